"""Find the config class and the runtime class of a worker package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module, util
from types import ModuleType
from typing import Any

from mosaic.errors import WorkerBroken

#: Where the guides put the two classes; the package itself is searched first.
_MODULES = ("", ".config", ".runtime")


def find_pair(package: str) -> tuple[type[Any], type[Any]]:
    """Return the ``*Config`` and the ``*Runtime`` class of *package*.

    They are looked for in the package, its ``config`` and its ``runtime`` module.

    Raises:
        WorkerBroken: one of them is missing, or there are several and none is the package's own choice.
    """
    modules = list(_existing_modules(package))
    config = _only(package, "Config", modules, lambda found: hasattr(found, "from_dict"))
    runtime = _only(package, "Runtime", modules, lambda found: callable(getattr(found, "run", None)))
    return config, runtime


def has_module(name: str) -> bool:
    """Tell whether the module *name* exists, importing only its parent packages."""
    try:
        return util.find_spec(name) is not None
    except ImportError:
        return False


def _existing_modules(package: str) -> Iterator[ModuleType]:
    for suffix in _MODULES:
        if not suffix or has_module(package + suffix):
            yield import_module(package + suffix)


def _only(
    package: str, suffix: str, modules: list[ModuleType], fits: Callable[[type[Any]], bool]
) -> type[Any]:
    for module in modules:
        found = _own_classes(package, suffix, module, fits)
        if len(found) == 1:
            return found.pop()
        if found:
            names = ", ".join(sorted(one.__name__ for one in found))
            raise WorkerBroken(
                package, f"{module.__name__} has several *{suffix} classes ({names}); add a __main__ module"
            )
    raise WorkerBroken(
        package,
        f"no class called *{suffix} in {', '.join(m.__name__ for m in modules)}; add one or a __main__",
    )


def _own_classes(
    package: str, suffix: str, module: ModuleType, fits: Callable[[type[Any]], bool]
) -> set[type[Any]]:
    return {
        found
        for name, found in vars(module).items()
        if isinstance(found, type)
        and name.endswith(suffix)
        and found.__module__.partition(".")[0] == package.partition(".")[0]
        and fits(found)
    }
