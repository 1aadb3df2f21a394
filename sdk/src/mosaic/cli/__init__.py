"""The ``mosaic`` command: a client like any other."""

from importlib.util import find_spec

from mosaic.errors import needs_extra

for _module in ("typer", "rich", "yaml", "grpc", "pydantic"):
    if find_spec(_module) is None:
        raise needs_extra("cli", ModuleNotFoundError(name=_module))
