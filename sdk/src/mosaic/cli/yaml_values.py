"""YAML as people mean it: ``1e-3`` is a number and ``2026-01-31`` is text, since a config is JSON in the end."""

from __future__ import annotations

import re
from typing import Any

import yaml

from mosaic.errors import BadInput

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_FLOAT = "tag:yaml.org,2002:float"

#: What PyYAML raises for a document that is none, or whose tags do not fit their text.
_UNREADABLE = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class _Loader(yaml.SafeLoader):
    """Reads no dates, and reads exponents without a dot as the numbers they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_FLOAT, re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+\Z"), list("-+0123456789"))


def load(source: str, text: str) -> Any:
    """Return what *text* says.

    Raises:
        BadInput: it is neither YAML nor JSON; *source* is named.
    """
    try:
        return yaml.load(text, _Loader)
    except _UNREADABLE as error:
        raise BadInput(source, [f"is neither YAML nor JSON: {str(error) or type(error).__name__}"]) from error
