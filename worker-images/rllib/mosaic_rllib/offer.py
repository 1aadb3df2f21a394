"""Which environments of the catalog these libraries do not have, found out by asking them."""

from __future__ import annotations

import tempfile
from contextlib import chdir

import gymnasium

from mosaic.errors import BadInput
from mosaic.worker.environments import Environment, catalog
from mosaic.worker.library.environments import register
from mosaic_rllib.catalog import is_multi_agent, turn_based, turns_fault
from mosaic_rllib.environments import first_line, make_parallel

#: Families that hold many environments, all of one make: to be registered is to be there.
_ALL_OR_NONE = frozenset({"atari", "minigrid", "babyai"})


def missing_environments() -> dict[str, str]:
    """Return why this worker cannot train on what the catalog lists and these libraries do not have, by name.

    They are really made: Gymnasium registers some that the installed MuJoCo cannot play.
    """
    # MuJoCo leaves a file of its own wherever it warns.
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        found = {known.env_id: _why_missing(known) for known in catalog()}
    absent = {name: f"this worker's libraries do not have {name}: {why}" for name, why in found.items() if why}
    return absent | {name: fault for name in sorted(turn_based()) if (fault := turns_fault(name))}


def _why_missing(known: Environment) -> str | None:
    try:
        if is_multi_agent(known.env_id):
            make_parallel(known.env_id, {}).close()
        elif known.family in _ALL_OR_NONE:
            register(known.env_id)
            gymnasium.spec(known.env_id)
        else:
            gymnasium.make(known.env_id).close()
    except BadInput as refused:
        return "; ".join(refused.faults)
    except Exception as error:
        # Whatever an environment raises while it is made is the reason why it is not there.
        return first_line(error)
    return None
