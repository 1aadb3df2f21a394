"""What was typed and what a file says, made one submission by what its worker publishes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mosaic.cli.options import assign
from mosaic.cli.run_file import RunFile
from mosaic.client import Login, Mosaic, RunSpec
from mosaic.client.spelling import spell
from mosaic.errors import BadInput, ServiceUnavailable, WorkerNotFound
from mosaic.home import home_directory
from mosaic.worker.spelling import names_of


@dataclass(frozen=True)
class Typed:
    """What the command line says about a worker's config."""

    #: ``env``, ``algo`` and ``steps``.
    common: Mapping[str, Any] = field(default_factory=dict)
    #: Of ``--set``; dots lead into objects.
    values: Mapping[str, Any] = field(default_factory=dict)
    #: Of the file that ``--config`` names.
    config: Mapping[str, Any] = field(default_factory=dict)


def whole_submission(platform: Mosaic, described: RunFile, typed: Typed) -> RunFile:
    """Return what is asked for with its whole config: that of the run it continues, of the file, of what was typed.

    Each goes before the one that was named earlier; one of them that says two things about one setting is refused.

    Raises:
        BadInput: lists what is contradictory, or cannot be set.
        WorkerNotFound: no worker has that name.
    """
    asked = described.spec
    if asked.continues:
        before = platform.run(asked.continues).run
        asked = replace(
            asked,
            worker=asked.worker or before.spec.worker,
            config={**before.spec.config, **asked.config},
            continues=before.run_id,
            seed=before.spec.seed if asked.seed is None and not described.seeds else asked.seed,
        )
    try:
        config = _with_common(platform, asked, asked.config, described.common, described.spec.config, "the file")
        config = assign("--set", {**config, **typed.config}, typed.values)
        config = _with_common(platform, asked, config, typed.common, typed.values, "--set")
    except WorkerNotFound:
        # The platform says so, too, and beside it everything else that is wrong.
        platform.predict(asked, seeds=described.seeds, idempotency_key=described.idempotency_key)
        raise
    whole = _with_policy(config) if _is_on_this_machine(platform) else config
    return replace(described, spec=replace(asked, config=whole))


def _with_common(
    platform: Mosaic,
    asked: RunSpec,
    config: Mapping[str, Any],
    common: Mapping[str, Any],
    beside: Mapping[str, Any],
    source: str,
) -> dict[str, Any]:
    """Return *config* with what every library has under the worker's names; what *beside* says must not differ."""
    spelt = spell(platform, asked.worker, common)
    said = dict(zip(spelt, common, strict=True))
    faults = [
        f"{said[name]} is {value!r}, but {source} has {other}={beside[other]!r}; say it once"
        for name, value in spelt.items()
        for other in names_of(name)
        if other in beside and beside[other] != value
    ]
    if faults:
        raise BadInput("submit", faults)
    replaced = {other for name in spelt for other in names_of(name)}
    return {name: value for name, value in config.items() if name not in replaced} | spelt


def _is_on_this_machine(platform: Mosaic) -> bool:
    """Tell whether runs see the files that whoever types sees."""
    try:
        return Login.running(home_directory(os.environ)) == platform.login
    except ServiceUnavailable:
        return False


def _with_policy(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return *config* with the whole path of the policy to play, since a worker works in a directory of its own."""
    policy = config.get("policy_path")
    if not isinstance(policy, str) or not policy:
        return dict(config)
    path = Path(policy).expanduser().absolute()
    if not path.exists():
        raise BadInput("policy_path", [f"there is no {path} on this machine, where the run would look for it"])
    return {**config, "policy_path": str(path)}
