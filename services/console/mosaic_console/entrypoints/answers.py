"""Answers: JSON for the API, problems as ``application/problem+json`` or, outside of the API, as a page."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mosaic.errors import BadInput, MosaicError, TooManyRequests
from mosaic_console.adapters.as_json import dumps
from mosaic_console.domain.problem import Problem, problem, problem_of
from mosaic_console.entrypoints.looks import page

log = structlog.get_logger(__name__)

API = "/api/"
#: A part that is away is tried again after so many seconds.
_RETRY_AFTER = {"Retry-After": "2"}


def answer(value: Any, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Return *value* as JSON that nobody keeps."""
    return Response(dumps(value), status, {"Cache-Control": "no-store"}, "application/json")


def problem_answer(told: Problem, path: str, *, retry_after_s: float = 0.0) -> Response:
    """Return *told* in the form that whoever asks for *path* reads."""
    headers = {"Cache-Control": "no-store"}
    if told.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers |= _RETRY_AFTER
    if retry_after_s:
        headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    if told.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if path.startswith(API):
        return Response(dumps(told), told.status, headers, "application/problem+json")
    return Response(page("problem.html", problem=told), told.status, headers, "text/html")


def error_answer(error: MosaicError, path: str) -> Response:
    """Return what *error* says in the form that whoever asks for *path* reads."""
    wait_s = error.retry_after_s if isinstance(error, TooManyRequests) else 0.0
    return problem_answer(problem_of(error), path, retry_after_s=wait_s)


def tell_problems(app: FastAPI) -> None:
    """Let every error of *app* become a problem."""
    app.add_exception_handler(MosaicError, _ours)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _of_the_framework)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, MosaicError)
    return error_answer(error, request.url.path)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [f"{'.'.join(map(str, each['loc'][1:])) or 'body'}: {each['msg'].lower()}" for each in error.errors()]
    return problem_answer(problem_of(BadInput("request", faults)), request.url.path)


async def _of_the_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code = status.phrase.lower().replace(" ", "_")
    return problem_answer(
        problem(status, code, f"{request.method} {request.url.path}: {error.detail}"), request.url.path
    )


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("request failed", method=request.method, path=request.url.path, exc_info=error)
    told = "something went wrong that should not; platform.log in the state directory says what"
    return problem_answer(problem(HTTPStatus.INTERNAL_SERVER_ERROR, "error", told), request.url.path)
