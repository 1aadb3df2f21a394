"""Logging by catalogue."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from mosaic.compat.logcode import LogConstant, log_constant


class LogConstantMixin:
    """Gives a class with a ``_logger`` the method ``log_constant``."""

    _logger: logging.Logger

    def log_constant(
        self,
        constant: LogConstant,
        *,
        message: str | None = None,
        extra: Mapping[str, Any] | None = None,
        exc_info: Any = None,
    ) -> None:
        """Log *constant* with this object's logger."""
        log_constant(self._logger, constant, message=message, extra=extra, exc_info=exc_info)


__all__ = ["LogConstantMixin", "log_constant"]
