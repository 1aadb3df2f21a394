"""Log messages that carry a stable code, as existing workers write them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Names a LogRecord keeps for itself; `extra` may not use them.
_RESERVED = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@dataclass(frozen=True, slots=True)
class LogConstant:
    """One message of the catalogue: what it says, how loud, and who says it."""

    code: str  #: ``LOG`` and a number, never reused for another meaning
    level: int | str
    message: str
    component: str
    subcomponent: str
    tags: tuple[str, ...] = ()

    def log(
        self,
        logger: logging.Logger,
        *,
        message: str | None = None,
        extra: Mapping[str, Any] | None = None,
        exc_info: Any = None,
    ) -> None:
        """Log it as ``"<code> <text>"``, with *message* as its detail and *extra* as fields.

        A key of *extra* that a log record keeps for itself is left out rather than raised about.
        """
        text = self.message if message is None else f"{self.message} | {message}"
        fields: dict[str, Any] = {
            "log_code": self.code,
            "component": self.component,
            "subcomponent": self.subcomponent,
            "tags": ",".join(self.tags),
        }
        fields |= {key: value for key, value in (extra or {}).items() if key not in _RESERVED}
        logger.log(_level_number(self.level), "%s %s", self.code, text, extra=fields, exc_info=exc_info)


def log_constant(logger: logging.Logger, constant: LogConstant, **details: Any) -> None:
    """Log *constant*, with the details that `LogConstant.log` takes."""
    constant.log(logger, **details)


def _level_number(level: int | str) -> int:
    if isinstance(level, int):
        return level
    known = logging.getLevelName(level.upper())
    return known if isinstance(known, int) else logging.INFO
