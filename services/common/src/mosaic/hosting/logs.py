"""Structured logs: one event, one line."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import structlog


def configure_logs(
    service: str, *, level: str = "info", as_json: bool | None = None, stream: TextIO | None = None
) -> None:
    """Send structlog and stdlib logs to *stream*, by default stderr: JSON for machines, colours for a terminal."""
    stream = stream or sys.stderr
    if as_json is None:
        as_json = not stream.isatty()
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    renderer = structlog.processors.JSONRenderer() if as_json else _console_renderer()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info if as_json else _keep,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = _Handler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    logging.getLogger("pika").setLevel(max(number, logging.ERROR))
    logging.getLogger("alembic").setLevel(max(number, logging.WARNING))
    structlog.contextvars.bind_contextvars(service=service)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines, and loses those that cannot be written: on a full disk nobody would read a complaint about each."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def _console_renderer() -> structlog.dev.ConsoleRenderer:
    # The default draws the local variables of every frame: secrets among them, and seconds of work.
    return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)


def _keep(_logger: object, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return event
