"""This agent's place in the fleet: introduced once, kept by heartbeats, introduced again when forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import structlog

from mosaic.agent.ports import Registry, Welcome
from mosaic.errors import MosaicError, SessionRejected
from mosaic.model.fleet import Announcement, Gpu

log = structlog.get_logger()

_SHORTEST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0


class Membership:
    """Holds the session of this agent and keeps it alive in its own thread."""

    def __init__(
        self,
        registry: Registry,
        announcement: Announcement,
        *,
        look_at_gpus: Callable[[], Sequence[Gpu]],
    ) -> None:
        self._registry = registry
        self._announcement = announcement
        self._look_at_gpus = look_at_gpus
        self._welcome: Welcome | None = None
        self._lock = threading.Condition()
        self._is_called = False
        self._is_retiring = False
        self._is_stopping = False
        self._fault: str | None = "not registered yet"
        #: The operator, or this agent itself, wants no new attempts here.
        self.is_draining = False
        self._thread = threading.Thread(target=self._run, name="membership", daemon=True)

    @property
    def agent_id(self) -> str:
        """The name of this agent."""
        return self._announcement.agent_id

    @property
    def fault(self) -> str | None:
        """Why the registry does not know us at the moment, None when it does."""
        return self._fault

    def start(self) -> None:
        """Introduce this agent, trying until it is heard."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the fleet, if it can be told."""
        with self._lock:
            self._is_stopping = True
            self._lock.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        if self._welcome is not None:
            try:
                self._registry.leave(self.agent_id, self._welcome.session_token)
            except MosaicError as error:
                log.info("left without a goodbye", reason=str(error))

    def wait_until_known(self, timeout_s: float) -> bool:
        """Wait until the registry knows us; tell whether that came true in time."""
        with self._lock:
            return self._lock.wait_for(lambda: self._welcome is not None, timeout_s)

    def token(self, timeout_s: float = 30.0) -> str:
        """Return the session token, waiting for the registry if need be.

        Raises:
            SessionRejected: the registry did not answer in time.
        """
        with self._lock:
            self._lock.wait_for(lambda: self._welcome is not None or self._is_stopping, timeout_s)
            if self._welcome is None:
                raise SessionRejected(self.agent_id)
            return self._welcome.session_token

    def renew(self, rejected_token: str) -> None:
        """Introduce this agent again: somebody did not accept *rejected_token*."""
        with self._lock:
            if self._welcome is not None and self._welcome.session_token == rejected_token:
                self._welcome = None
                self._is_called = True
                self._lock.notify_all()

    def retire(self) -> None:
        """Ask for no new attempts from now on; what runs here goes on."""
        with self._lock:
            if not self._is_retiring:
                self._is_retiring = self._is_called = True
                self._lock.notify_all()

    def _run(self) -> None:
        pause_s = 0.0
        while self._wait(pause_s):
            try:
                pause_s = self._step()
                self._fault = None
            except SessionRejected:
                self._welcome = None
                pause_s = 0.0
            except MosaicError as error:
                if self._fault is None or self._welcome is None:
                    log.warning("registry not reached", reason=str(error))
                self._fault = str(error)
                pause_s = min(_LONGEST_PAUSE_S, max(_SHORTEST_PAUSE_S, pause_s * 2))
            except Exception as error:
                log.exception("registry not reached")
                self._fault = f"{type(error).__name__}: {error}"
                pause_s = _LONGEST_PAUSE_S

    def _wait(self, pause_s: float) -> bool:
        with self._lock:
            self._lock.wait_for(lambda: self._is_called or self._is_stopping, pause_s)
            self._is_called = False
            return not self._is_stopping

    def _step(self) -> float:
        """Register or send a heartbeat, whichever is due; return when the next is."""
        welcome = self._welcome
        if welcome is None:
            welcome = self._registry.register(self._announcement)
            with self._lock:
                self._welcome = welcome
                self._lock.notify_all()
            log.info("agent registered", agent_id=self.agent_id, protocol=welcome.protocol_version)
        else:
            gpus = self._look_at_gpus()
            self.is_draining = self._registry.heartbeat(self.agent_id, welcome.session_token, gpus)
        if self._is_retiring and not self.is_draining:
            self._registry.retire(self.agent_id, welcome.session_token)
            self.is_draining = True
        return welcome.heartbeat_interval_s
