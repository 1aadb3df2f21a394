"""One object for the whole platform."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from mosaic.client.checks import checked
from mosaic.client.keeping import Keeping
from mosaic.client.login import Login
from mosaic.client.people import People
from mosaic.client.persistence import OnAway, ignore, persist
from mosaic.client.rest import Rest
from mosaic.client.values import (
    Curve,
    Episode,
    Episodes,
    EventLine,
    LogLine,
    Manifest,
    SeriesInfo,
    Summary,
)
from mosaic.client.written import submission, unwritten_line
from mosaic.errors import NotFound, RunNotFound, RunUnfinished
from mosaic.home import home_directory
from mosaic.ids import WorkerName
from mosaic.lifecycle import RunState
from mosaic.model.attempt import RunDetail
from mosaic.model.codec import from_json
from mosaic.model.fleet import Fleet, Worker
from mosaic.model.run import Explanation, Run, RunSpec
from mosaic.model.team import Team

#: Runs in one page of a list, and ids in one request for numbers.
_PAGE = 1000
_MOST_IDS = 200
_LOOK_AGAIN_S = 0.05
_LONGEST_LOOK_S = 0.5


class Mosaic(Keeping):
    """A connection to the platform. Every call raises a `mosaic.errors.MosaicError` that says what to do.

    ::

        with Mosaic.connect() as fleet:
            (run,) = fleet.submit("reference", {"env_id": "CartPole-v1"}, seed=1)
            run = fleet.wait(run.run_id)
            print(fleet.manifest(run.run_id).content["outcome"])
    """

    def __init__(self, login: Login, *, find: Callable[[], Login] | None = None) -> None:
        """Reach the platform at *login*; nothing is sent before the first call.

        A platform that was away may have come back elsewhere: *find* says where, if it can.
        """
        self._rest = Rest(login, find=find)

    @classmethod
    def connect(cls, env: Mapping[str, str] | None = None) -> Mosaic:
        """Connect to the platform that the environment names, or that ``mosaic up`` runs here.

        Raises:
            ServiceUnavailable: nothing says where the platform is.
        """
        env = dict(os.environ if env is None else env)

        def find() -> Login:
            return Login.find(env, home_directory(env))

        return cls(find(), find=find)

    def __enter__(self) -> Mosaic:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._rest.close()

    @property
    def people(self) -> People:
        """People, their roles and their tokens, and who one is."""
        return People(self._rest)

    @property
    def login(self) -> Login:
        """Where the platform is, as far as is known."""
        return self._rest.login

    def submit(
        self,
        asked: RunSpec | str = "",
        config: Mapping[str, Any] | None = None,
        *,
        seeds: Sequence[int] = (),
        idempotency_key: str = "",
        **fields: Any,
    ) -> list[Run]:
        """Submit and return the runs: one, or one for each of *seeds*.

        Args:
            asked: the whole spec; or the worker, which a run that ``continues`` another need not name.
            config: settings of the worker.
            seeds: one run for each; none = one run with the seed of the spec.
            idempotency_key: a repeated submit with the same key returns the runs of the first.
            fields: the others of `RunSpec`: ``seed``, ``name``, ``priority="high"``, ``max_wall=90.0``.

        Raises:
            BadInput: lists everything that is wrong with it.
        """
        spec = checked(_spec(asked, config, fields), seeds=seeds, idempotency_key=idempotency_key)
        answer = self._rest.ask("POST", "runs", body=submission(spec, seeds), key=idempotency_key)
        return [from_json(Run, run) for run in answer]

    def predict(
        self,
        asked: RunSpec | str = "",
        config: Mapping[str, Any] | None = None,
        *,
        seeds: Sequence[int] = (),
        idempotency_key: str = "",
        **fields: Any,
    ) -> list[str]:
        """Return what such a `submit` would lead to, in sentences, without submitting.

        Raises:
            BadInput: lists everything that is wrong with it.
        """
        spec = checked(_spec(asked, config, fields), seeds=seeds, idempotency_key=idempotency_key)
        body = submission(spec, seeds)
        return list(self._rest.ask("POST", "runs", body=body, key=idempotency_key, dry_run=True)["prediction"])

    def run(self, run_id: str) -> RunDetail:
        """Return the run whose id is, starts with or ends with *run_id*, or which bears it as a name.

        Raises:
            RunNotFound: there is none.
            BadInput: several bear the name; it lists them.
        """
        return from_json(RunDetail, self._of_run(run_id))

    def runs(
        self,
        *,
        states: Collection[RunState] = (),
        team: str = "",
        user: str = "",
        worker: str = "",
        name: str = "",
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """Return at most *limit* runs, newest first."""
        found: list[Run] = []
        after = ""
        while len(found) < limit:
            answer = self._rest.ask(
                "GET",
                "runs",
                state=[state.value for state in states],
                team=team,
                user=user,
                worker=worker,
                name=name,
                label=[f"{key}={value}" for key, value in (labels or {}).items()],
                limit=min(limit - len(found), _PAGE),
                after=after,
            )
            found += [from_json(Run, run) for run in answer["runs"]]
            after = answer["next"]
            if not after:
                break
        return found

    def watch(self, run_ids: Collection[str] = (), *, on_away: OnAway = ignore) -> Iterator[Run]:
        """Yield the runs as they stand, then each again after every change, without end.

        When the scheduler goes away, *on_away* is called once; after its return the runs come as they stand again.

        Raises:
            RunNotFound: one of *run_ids* names no run.
            Unavailable: the scheduler did not answer to begin with.
        """
        return self._watch(run_ids, on_away=on_away)

    def wait(self, run_id: str, *, within_s: float | None = None) -> Run:
        """Return the run once it has ended, however often the scheduler goes away meanwhile.

        Raises:
            RunNotFound: *run_id* names no run.
            RunUnfinished: it has not ended *within_s* seconds.
        """
        return self._wait(run_id, within_s, _deadline(within_s))

    def wait_all(self, run_ids: Collection[str], *, within_s: float | None = None) -> list[Run]:
        """Return the runs, in the order of *run_ids*, once all of them have ended, as `wait` does for one.

        Raises:
            RunNotFound: one of *run_ids* names no run.
            RunUnfinished: one of them has not ended *within_s* seconds.
        """
        deadline = _deadline(within_s)
        for run_id in run_ids:
            # One that names nothing is told before any is waited for.
            next(self._watch([run_id], deadline=deadline), None)
        return [self._wait(run_id, within_s, deadline) for run_id in run_ids]

    def cancel(self, run_id: str, *, reason: str = "") -> Run:
        """End a run: SIGTERM, its grace, SIGKILL. An ended run stays as it is."""
        return self._command(run_id, "cancel", {"reason": reason})

    def pause(self, run_id: str) -> Run:
        """Stop a running run in place; it keeps its machine."""
        return self._command(run_id, "pause")

    def resume(self, run_id: str) -> Run:
        """Let a paused run go on."""
        return self._command(run_id, "resume")

    def retry(self, run_id: str) -> Run:
        """Submit an ended run again; the new run is labelled ``retry_of``."""
        return self._command(run_id, "retry")

    def explain(self, run_id: str) -> Explanation:
        """Say why a run waits and when it may start."""
        return from_json(Explanation, self._of_run(run_id, "explain"))

    def events(
        self,
        run_id: str,
        *,
        attempt: int = 0,
        from_seq: int | None = None,
        kinds: Collection[str] = (),
        follow: bool = False,
        limit: int = 0,
        on_away: OnAway = ignore,
    ) -> Iterator[EventLine]:
        """Yield the events of a run in order; with *follow*, go on until it has ended.

        When telemetry goes away from a follower, *on_away* is called once; after its return the next event comes.
        """
        start, left = None if from_seq is None else f"{attempt or 1}.{from_seq}", limit

        def stream() -> Iterator[Any]:
            asked = {"attempt": attempt, "from_": start, "kind": sorted(kinds), "limit": left if limit else 0}
            return self._lines(run_id, "events", follow=follow, raw=True, **asked)

        for told in self._persist(stream, on_away) if follow else stream():
            # A stream that has to be opened again goes on from here.
            start, left = f"{told['attempt']}.{told['seq'] + 1}", left - 1
            yield EventLine(told["attempt"], told["seq"], told["time"], told["kind"], unwritten_line(told))
            if limit and left <= 0:
                return

    def logs(
        self, run_id: str, *, attempt: int = 0, tail: int = 0, follow: bool = False, on_away: OnAway = ignore
    ) -> Iterator[LogLine]:
        """Yield log lines; with *follow*, go on until the run has ended.

        When telemetry goes away from a follower, *on_away* is called once; after its return the next line comes.
        """
        after = None

        def stream() -> Iterator[Any]:
            # One that is opened again tells all that is newer than what was read.
            newest = {"after": after} if after else {"tail": tail}
            return self._lines(run_id, "logs", follow=follow, attempt=attempt, **newest)

        for told in self._persist(stream, on_away) if follow else stream():
            after = f"{told['attempt']}.{told['seq']}"
            yield from_json(LogLine, told)

    def series(self, run_id: str, *, attempt: int = 0) -> list[SeriesInfo]:
        """Return the curves that can be read: each once with what counts of it, or as one *attempt* told them."""
        return [from_json(SeriesInfo, info) for info in self._of_run(run_id, "series", attempt=attempt)]

    def curve(self, run_id: str, name: str, *, agent: str = "", attempt: int = 0, resolution: int = 1000) -> Curve:
        """Return a curve in at most *resolution* buckets; 0 asks for every point.

        It is made of what counts, unless one *attempt* is asked for: then of all that it told.
        """
        asked = {"name": name, "agent": agent, "attempt": attempt, "resolution": resolution}
        return from_json(Curve, self._of_run(run_id, "curves", **asked))

    def episodes(
        self, run_id: str, *, kind: str = "training", attempt: int = 0, include_lost: bool = False, last: int = 0
    ) -> Episodes:
        """Return episodes in order: those of training that count, if nothing else is said.

        Args:
            run_id: of which run.
            kind: ``training``, ``evaluation``, ``agent`` and ``evaluation_agent`` (agents' shares), or ``all``. A run
                that told of agents alone has their episodes as those of training.
            attempt: only of this one, and then all it told.
            include_lost: also what a later attempt trained again.
            last: only so many, the newest.

        Raises:
            BadInput: there is no such kind.
        """
        asked = {"kind": kind, "attempt": attempt, "include_lost": include_lost, "last": last}
        return Episodes(from_json(Episode, episode) for episode in self._of_run(run_id, "episodes", **asked))

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the newest numbers of each run that has sent anything."""
        wanted = list(run_ids)
        found: dict[str, Any] = {}
        for first in range(0, len(wanted), _MOST_IDS):
            found |= self._rest.ask("GET", "summaries", run=wanted[first : first + _MOST_IDS])
        return {run_id: from_json(Summary, summary) for run_id, summary in found.items()}

    def telemetry_fault(self) -> str:
        """Return why telemetry can store nothing new at the moment, such as a full disk; nothing when it can."""
        return str(self._rest.ask("GET", "telemetry")["fault"])

    def manifest(self, run_id: str, *, within_s: float = 30.0) -> Manifest:
        """Return the manifest of an ended run, waiting up to *within_s* for it to be written.

        It is written when the last events of the run have arrived, a moment after its end is known.

        Raises:
            NotFound: it has not been written.
        """
        deadline, pause = time.monotonic() + within_s, _LOOK_AGAIN_S
        while True:
            try:
                return from_json(Manifest, self._of_run(run_id, "manifest"))
            except NotFound:
                # The last events of a run may still be on their way when its end is already known.
                if time.monotonic() > deadline:
                    raise
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_LOOK_S)

    def fleet(self) -> Fleet:
        """Return machines, agents and workers as they stand."""
        return from_json(Fleet, self._rest.ask("GET", "fleet"))

    def worker(self, name: str) -> Worker:
        """Return what the registry knows of a worker.

        Raises:
            WorkerNotFound: no worker has that name.
        """
        return from_json(Worker, self._rest.ask("GET", "workers", name))

    def drain(self, *, node_id: str = "", agent_id: str = "", draining: bool = True) -> None:
        """Take a node or an agent out of planning, or back in; what runs there goes on."""
        body = {"node_id": node_id, "agent_id": "" if node_id else agent_id, "draining": draining}
        self._rest.ask("POST", "fleet", "drain", body=body)

    def teams(self) -> list[Team]:
        """Return every team that was set up."""
        return [from_json(Team, team) for team in self._rest.ask("GET", "teams")]

    def set_team(self, name: str, **terms: Any) -> Team:
        """Set up a team, or change those of its terms that are given; None lifts a limit.

        The terms are ``weight``, the guaranteed ``gpus``, ``cpus`` and ``memory_mb``, and the limits of
        `mosaic.model.team.Team`.

        Raises:
            BadInput: lists every term that makes no sense.
        """
        body = {
            f"{term}_s" if isinstance(value, timedelta) or term == "max_wall" else term: (
                value.total_seconds() if isinstance(value, timedelta) else value
            )
            for term, value in terms.items()
        }
        return from_json(Team, self._rest.ask("PATCH", "teams", name, body=body))

    def _watch(
        self, run_ids: Collection[str], *, on_away: OnAway = ignore, deadline: float | None = None
    ) -> Iterator[Run]:
        def stream() -> Iterator[Any]:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            return self._rest.lines("POST", "watch", body={"runs": sorted(run_ids), "within_s": left})

        for run in persist(stream, look_again=self._rest.look_again, on_away=on_away, deadline=deadline):
            yield from_json(Run, run)

    def _wait(self, run_id: str, within_s: float | None, deadline: float | None) -> Run:
        state = "unknown"
        for run in self._watch([run_id], deadline=deadline):
            if run.has_ended:
                return run
            run_id, state = run.run_id, run.state.value
        raise RunUnfinished(run_id, within_s or 0.0, state)

    def _persist(self, stream: Callable[[], Iterator[Any]], on_away: OnAway) -> Iterator[Any]:
        """Yield from a stream that follows a run: it ends only when the run has ended."""
        for told in persist(stream, look_again=self._rest.look_again, on_away=on_away):
            if "finished" in told:
                return
            yield told

    def _lines(self, run_id: str, what: str, **asked: Any) -> Iterator[Any]:
        return self._rest.lines("GET", "runs", _named(run_id), what, **asked)

    def _of_run(self, run_id: str, *what: str, **asked: Any) -> Any:
        return self._rest.ask("GET", "runs", _named(run_id), *what, **asked)

    def _command(self, run_id: str, command: str, body: Mapping[str, str] | None = None) -> Run:
        return from_json(Run, self._rest.ask("POST", "runs", _named(run_id), command, body=body or {}))


def _named(run_id: str) -> str:
    if not run_id:
        raise RunNotFound(run_id)
    return run_id


def _deadline(within_s: float | None) -> float | None:
    return None if within_s is None else time.monotonic() + within_s


def _spec(asked: RunSpec | str, config: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> RunSpec:
    if isinstance(asked, RunSpec):
        return replace(asked, **fields) if config is None else replace(asked, config=config, **fields)
    return RunSpec(WorkerName(asked), config or {}, **fields)
