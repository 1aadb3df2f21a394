"""Several frames as one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy


def tile_frames(frames: Sequence[Any]) -> Any:
    """Return *frames*, all of one height, width and channels, side by side in a near-square grid.

    What the grid has beyond the frames is black.

    Raises:
        ValueError: there is no frame, or they differ in shape, or are not height x width x channels.
    """
    if not len(frames):
        raise ValueError("there is no frame to tile")
    pictures = [numpy.asarray(frame) for frame in frames]
    shapes = {picture.shape for picture in pictures}
    if len(shapes) > 1 or pictures[0].ndim != 3:
        raise ValueError(f"frames must share one shape (height, width, channels), have {sorted(shapes)}")
    rows = math.ceil(math.sqrt(len(pictures)))
    columns = math.ceil(len(pictures) / rows)
    height, width, channels = pictures[0].shape
    grid = numpy.zeros((rows * height, columns * width, channels), dtype=pictures[0].dtype)
    for index, picture in enumerate(pictures):
        top, left = index // columns * height, index % columns * width
        grid[top : top + height, left : left + width] = picture
    return grid
