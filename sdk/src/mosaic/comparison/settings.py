"""The settings of runs by the names that people use for them, as far as they were asked for or ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mosaic.comparison.facts import Facts
from mosaic.comparison.source import Source
from mosaic.errors import BadInput, NotFound, did_you_mean
from mosaic.worker.spelling import COMMON, names_of

#: Of a setting that nobody asked for and no run has told.
DEFAULT = "default"
#: A manifest is written a moment after the end of its run.
_MANIFEST_WAIT_S = 5.0
_OF_THE_RUN = ("worker", "name")


class Settings:
    """What the settings of runs are; those that were not asked for are taken from what ran."""

    def __init__(self, platform: Source, runs: Sequence[Facts]) -> None:
        self._platform = platform
        self._runs = runs
        #: By digest: runs that share it were asked for the same, so one of them that has ended speaks for all.
        self._ran: dict[str, Mapping[str, Any]] = {}

    def value(self, run: Facts, name: str) -> Any:
        """Return what *run* has for *name*: a setting, ``worker``, ``name`` or ``label.KEY``; else `DEFAULT`."""
        if name in _OF_THE_RUN:
            return getattr(run, name)
        if name.startswith("label."):
            return run.labels.get(name.removeprefix("label."), "")
        wanted = _names(name.removeprefix("config."))
        asked = flat(run.config)
        for told in (asked, self._ran_with(run.config_digest)):
            found = next((told[one] for one in wanted if told.get(one) is not None), None)
            if found is not None:
                return found
        return DEFAULT

    def check(self, names: Iterable[str]) -> None:
        """Return if every one of *names* is something that at least one run has.

        Raises:
            BadInput: lists those that none has.
        """
        known = {*_OF_THE_RUN, *COMMON}
        for run in self._runs:
            known |= {*flat(run.config), *self._ran_with(run.config_digest), *(f"label.{key}" for key in run.labels)}
        faults = [
            f"no run has a setting {name!r}{did_you_mean(name, known)}"
            for name in names
            if not known.intersection([name, *_names(name.removeprefix("config."))])
        ]
        if faults:
            raise BadInput("--by", faults)

    def differing(self, runs: Iterable[Facts]) -> list[str]:
        """Return the names of the settings in which *runs* differ, and ``worker`` before them if they do in that."""
        runs = list(runs)
        asked = dict.fromkeys(_own_name(name) for run in runs for name in flat(run.config))
        return [name for name in ("worker", *asked) if len({shown(self.value(run, name)) for run in runs}) > 1]

    def _ran_with(self, digest: str) -> Mapping[str, Any]:
        if digest not in self._ran:
            alike = [run for run in self._runs if run.config_digest == digest and run.has_ended]
            self._ran[digest] = next(filter(None, map(self._told_by, alike)), {})
        return self._ran[digest]

    def _told_by(self, run: Facts) -> Mapping[str, Any]:
        try:
            told = self._platform.manifest(run.run_id, within_s=_MANIFEST_WAIT_S).content.get("settings") or {}
        except NotFound:
            return {}
        return flat({name: one.get("value") if isinstance(one, Mapping) else one for name, one in told.items()})


def flat(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return *config* with the settings within others under keys with dots, as ``--set`` takes them."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found


def shown(value: Any) -> str:
    """Return *value* as it stands in the label of an arm."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _names(name: str) -> list[str]:
    """Return every name under which libraries have what people call *name*."""
    alike = next((names for common, names in COMMON.items() if name in (common, *names)), (name,))
    return [other for one in dict.fromkeys((name, *alike)) for other in names_of(one)]


def _own_name(name: str) -> str:
    return next((common for common, names in COMMON.items() if name in names), name)
