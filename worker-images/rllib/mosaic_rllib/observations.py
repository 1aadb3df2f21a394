"""Turning what is seen into one array of numbers: RLlib's default networks read nothing else."""

from __future__ import annotations

from collections.abc import Mapping
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
    if _is_readable(space):
        return env
    return gymnasium.wrappers.TransformObservation(env, partial(_read, space), _readable_space(space))


class ReadableTeam:
    """An environment of PettingZoo whose agents see what RLlib's networks can read."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.possible_agents: list[str] = env.possible_agents
        self._seen: dict[str, Space] = {agent: env.observation_space(agent) for agent in env.possible_agents}

    @property
    def agents(self) -> list[str]:
        """Those who still act."""
        acting: list[str] = self.env.agents
        return acting

    def observation_space(self, agent: str) -> Space:
        """Return what *agent* sees."""
        space = self._seen[agent]
        return space if _is_readable(space) else _readable_space(space)

    def action_space(self, agent: str) -> Space:
        """Return what *agent* can do."""
        space: Space = self.env.action_space(agent)
        return space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._read(observations), infos

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Let every agent act once."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        return self._read(observations), rewards, terminated, truncated, infos

    def render(self) -> Any:
        """Return a picture of it."""
        return self.env.render()

    def close(self) -> None:
        """Let go of what it holds."""
        self.env.close()

    def _read(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        spaces_seen = ((agent, self._seen[agent], seen) for agent, seen in observations.items())
        return {agent: seen if _is_readable(space) else _read(space, seen) for agent, space, seen in spaces_seen}


def _is_picture(space: Space) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) == 3 and min(space.shape[:2]) >= min(_SIDES)


def _is_readable(space: Space) -> bool:
    is_right_shape = _has_known_size(space) if _is_picture(space) else len(space.shape or ()) == 1
    return isinstance(space, spaces.Box) and space.dtype == np.float32 and is_right_shape


def _has_known_size(picture: Space) -> bool:
    height, width, _colours = picture.shape or (0, 0, 0)
    return height == width and height in _SIDES


def _readable_space(space: Space) -> Space:
    if _is_picture(space):
        assert isinstance(space, spaces.Box)
        low, high = _read(space, space.low), _read(space, space.high)
        return spaces.Box(low, high, low.shape, np.float32)
    flat = spaces.utils.flatten_space(space)
    assert isinstance(flat, spaces.Box)
    return spaces.Box(flat.low.astype(np.float32), flat.high.astype(np.float32), flat.shape, np.float32)


def _read(space: Space, seen: Any) -> Any:
    if not _is_picture(space):
        return spaces.utils.flatten(space, seen).astype(np.float32)
    sized = seen if _has_known_size(space) else _resized(seen)
    # RLlib's convolutions take no whole numbers.
    return (sized / 255 if sized.dtype == np.uint8 else sized).astype(np.float32)


def _resized(picture: Any) -> Any:
    import cv2

    resized = cv2.resize(picture, (_USUAL_SIDE, _USUAL_SIDE), interpolation=cv2.INTER_AREA)
    # It drops the last dimension of a picture without colours.
    return resized.reshape(_USUAL_SIDE, _USUAL_SIDE, -1)
