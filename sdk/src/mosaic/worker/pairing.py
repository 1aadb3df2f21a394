"""Find the config class and the runtime class of a worker package."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from mosaic.errors import WorkerBroken
from mosaic.worker.anatomy import find_config_class, has_module


def find_pair(package: str) -> tuple[type[Any], type[Any]]:
    """Return the ``*Config`` and the ``*Runtime`` class of *package*.

    They are looked for where the guides put them: in ``config``, ``runtime`` and the package itself.

    Raises:
        WorkerBroken: one of them is missing, or several could be meant.

    """
    config_class = find_config_class(package)
    if config_class is None:
        raise WorkerBroken(package, "no *Config dataclass with run_id and from_dict; add one or a __main__")
    return config_class, _runtime_class(package)


def _runtime_class(package: str) -> type[Any]:
    for name in (f"{package}.runtime", package):
        found = _runtimes_in(import_module(name)) if has_module(name) else set()
        if len(found) > 1:
            names = ", ".join(sorted(one.__name__ for one in found))
            raise WorkerBroken(package, f"{name} has several *Runtime classes ({names}); add a __main__")
        if found:
            return found.pop()
    raise WorkerBroken(package, "no *Runtime class with a run method; add one or a __main__ module")


def _runtimes_in(module: ModuleType) -> set[type[Any]]:
    """Return the runtimes that belong to the package of *module*, not those it only imports."""
    package = module.__name__.partition(".")[0]
    return {
        value
        for name, value in vars(module).items()
        if name.endswith("Runtime")
        and isinstance(value, type)
        and value.__module__.partition(".")[0] == package
        and callable(getattr(value, "run", None))
    }
