"""Pickling what a training consists of as it is at this moment, environments included.

Plain pickling falls short in three ways: environments that inherit from ``EzPickle`` are made anew instead of
being restored, canvases to draw on cannot be pickled, and neither can the views of a dict that XuanCe's
buffers keep.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Callable, KeysView, Mapping
from types import SimpleNamespace
from typing import Any

_KEYS: type[KeysView[Any]] = type(dict[Any, Any]().keys())


class Freezer(pickle.Pickler):
    """Keeps the attributes of environments, whatever they say about how to pickle them."""

    def reducer_override(self, obj: Any) -> Any:
        """Return how to rebuild *obj*, or leave it to pickle."""
        kind = type(obj)
        if kind is _KEYS:
            return _keys, (list(obj),)
        if _is_made_anew(kind):
            return copyreg.__newobj__, (kind,), vars(obj), None, None, set_attributes  # type: ignore[attr-defined]
        rebuild = _canvas_reducers().get(kind)
        return rebuild(obj) if rebuild else NotImplemented


#: What `torch.save` wants for a pickle module.
FREEZING = SimpleNamespace(__name__=__name__, Pickler=Freezer)


def set_attributes(thing: Any, attributes: Mapping[str, Any]) -> None:
    """Give *thing* its *attributes* back without asking it."""
    vars(thing).update(attributes)


def _keys(names: list[str]) -> KeysView[str]:
    return dict.fromkeys(names).keys()


def _is_made_anew(kind: type) -> bool:
    return any(base.__name__ == "EzPickle" for base in kind.__mro__)


def _canvas_reducers() -> Mapping[type, Callable[[Any], Any]]:
    """Return how to rebuild a canvas and a font; what was drawn has nothing to do with the state."""
    import pygame
    import pygame.freetype

    return {
        pygame.Surface: lambda canvas: (pygame.Surface, (canvas.get_size(),)),
        pygame.freetype.Font: lambda font: (pygame.freetype.Font, (font.path, font.size)),
    }
