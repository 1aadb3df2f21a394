"""Finding the parts of a worker package by their names, importing as little of it as possible."""

from __future__ import annotations

import ast
import dataclasses
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

#: The method that makes a runtime fit each optional protocol.
OPTIONAL_METHODS = {
    "request_stop": "Stoppable",
    "request_pause": "Pausable",
    "resume_from": "Resumable",
    "evaluate": "Evaluable",
}


#: What the runtimes of library workers are made of.
TEMPLATE = "LibraryRuntime"
_TEMPLATE_MODULE = "mosaic.worker.library.runtime"

#: Runs packages that have nothing to start them with.
DRIVER = "mosaic.worker.driver"


def has_module(name: str) -> bool:
    """Tell whether module *name* exists, without importing it; its parent package is imported."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def launch_arguments(package: str) -> tuple[str, ...]:
    """Return what follows the interpreter to start the worker of *package*; nothing when it cannot be started.

    A package that is only a config and a runtime, as in the guides, is run by `mosaic.worker.driver`.
    """
    for module in (package, f"{package}.cli"):
        if has_module(f"{package}.__main__" if module == package else module):
            return ("-m", module)
    return ("-m", DRIVER, package) if _has_runtime(package) else ()


def find_config_class(package: str) -> type | None:
    """Return the config class of *package*: a ``*Config`` dataclass with ``from_dict`` that names a run.

    It is looked for in ``<package>.config``, then in the package itself. Raises what importing raises.
    """
    for name in (f"{package}.config", package):
        if has_module(name):
            found = _config_classes(import_module(name))
            if found:
                return found[0]
    return None


def optional_protocols(package: str) -> tuple[str, ...]:
    """Return which optional protocols the runtime of *package* fits, by reading its source.

    A runtime module usually imports the whole library, which is why this does not import it; methods
    that are inherited are seen only of the template for libraries.
    """
    found = [node for module in (f"{package}.runtime", package) for node in _classes_in_source(module)]
    runtimes = [node for node in found if node.name.endswith("Runtime")]
    if any(isinstance(base, ast.Name) and base.id == TEMPLATE for node in runtimes for base in node.bases):
        runtimes += [node for node in _classes_in_source(_TEMPLATE_MODULE) if node.name == TEMPLATE]
    methods = {item.name for node in runtimes for item in node.body if isinstance(item, ast.FunctionDef)}
    return tuple(protocol for method, protocol in OPTIONAL_METHODS.items() if method in methods)


def _has_runtime(package: str) -> bool:
    modules = (f"{package}.runtime", package)
    return any(node.name.endswith("Runtime") for module in modules for node in _classes_in_source(module))


def _config_classes(module: ModuleType) -> list[type]:
    """Return the candidates, those defined here before those imported, and in their order."""
    classes = [value for name, value in vars(module).items() if name.endswith("Config") and _is_config(value)]
    return sorted(classes, key=lambda value: value.__module__ != module.__name__)


def _is_config(value: Any) -> bool:
    return (
        isinstance(value, type)
        and dataclasses.is_dataclass(value)
        and hasattr(value, "from_dict")
        and any(field.name == "run_id" for field in dataclasses.fields(value))
    )


def _classes_in_source(module: str) -> list[ast.ClassDef]:
    try:
        spec = find_spec(module)
        source = spec.loader.get_source(module) if spec and spec.loader else None  # type: ignore[attr-defined]
        tree = ast.parse(source or "")
    except (ImportError, ValueError, AttributeError, SyntaxError):
        return []
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]
