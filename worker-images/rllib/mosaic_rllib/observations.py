"""Turning what is seen into one array of numbers: RLlib's default networks read nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

Space = spaces.Space[Any]

#: Sides of the square pictures that RLlib has convolutions for. Others are resized; those that are smaller than all of
#: these are read as a row of numbers.
_SIDES = (42, 64, 84, 96)
_USUAL_SIDE = 64


def readable(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return *env* with observations that RLlib's networks can read."""
    space = env.observation_space
    shown = readable_space(space)
    return env if shown is space else gymnasium.wrappers.TransformObservation(env, partial(read, space), shown)


def readable_space(space: Space) -> Space:
    """Return what is seen of *space*; itself where that can be read as it is."""
    if _is_readable(space):
        return space
    if _is_picture(space):
        assert isinstance(space, spaces.Box)
        low, high = read(space, space.low), read(space, space.high)
        return spaces.Box(low, high, low.shape, np.float32)
    flat = spaces.utils.flatten_space(space)
    assert isinstance(flat, spaces.Box)
    return spaces.Box(flat.low.astype(np.float32), flat.high.astype(np.float32), flat.shape, np.float32)


def read(space: Space, seen: Any) -> Any:
    """Return one of `readable_space` for one of *space*."""
    if _is_readable(space):
        return seen
    if not _is_picture(space):
        return np.asarray(spaces.utils.flatten(space, seen), np.float32)
    sized = seen if _has_known_size(space) else _resized(seen)
    # RLlib's convolutions take no whole numbers.
    return (sized / 255 if sized.dtype == np.uint8 else sized).astype(np.float32)


def _is_picture(space: Space) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) == 3 and min(space.shape[:2]) >= min(_SIDES)


def _is_readable(space: Space) -> bool:
    is_right_shape = _has_known_size(space) if _is_picture(space) else len(space.shape or ()) == 1
    return isinstance(space, spaces.Box) and space.dtype == np.float32 and is_right_shape


def _has_known_size(picture: Space) -> bool:
    height, width, _colours = picture.shape or (0, 0, 0)
    return height == width and height in _SIDES


def _resized(picture: Any) -> Any:
    import cv2

    resized = cv2.resize(picture, (_USUAL_SIDE, _USUAL_SIDE), interpolation=cv2.INTER_AREA)
    # It drops the last dimension of a picture without colours.
    return resized.reshape(_USUAL_SIDE, _USUAL_SIDE, -1)
