"""What is wrong with a request, as far as it and what its worker published can tell."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

from mosaic.ids import is_id
from mosaic.model.resources import Resources
from mosaic.model.run import MAX_NAME, RunSpec
from mosaic.worker import environments
from mosaic.worker.branches import hyper_parameters
from mosaic.worker.spelling import default_of
from mosaic.worker.suitability import pair_fault
from mosaic.worker.upstream_names import reason
from mosaic.worker.validation import validate_config
from mosaic_scheduler.domain.snapshot import Node
from mosaic_scheduler.ports import FleetView, WorkerFacts

#: What the platform gives to every worker, and what to say to who sets it in a config.
_GIVEN = {
    "run_id": "is set by the scheduler; leave it out of the config",
    "seed": "is set by the scheduler; leave it out of the config and ask for a seed beside it (--seed)",
}

MAX_LABELS = 64
#: Characters of the key and of the value of a label.
MAX_LABEL = (128, 256)

#: What a terminal obeys or a reader cannot see through: control characters, ends of lines, changes of direction.
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def name_faults(spec: RunSpec) -> list[str]:
    """Return what is wrong with the names in *spec*: its team, its user, its own and its labels."""
    named = (("team", spec.team), ("user", spec.user))
    faults = [f"{what} {name!r} is not a name" for what, name in named if not is_id(name)]
    faults += _text_faults("name", spec.name, MAX_NAME)
    if spec.name and not spec.name.strip():
        faults.append("name is blank; leave it out, or write something")
    if len(spec.labels) > MAX_LABELS:
        faults.append(f"{len(spec.labels)} labels, {MAX_LABELS} are allowed")
    for key, value in spec.labels.items():
        faults += _text_faults(f"the label {key[:40]!r}", key, MAX_LABEL[0])
        faults += _text_faults(f"the value of label {key[:40]!r}", value, MAX_LABEL[1])
    if "" in spec.labels:
        faults.append("a label has no key; write KEY=VALUE")
    return faults


def _text_faults(what: str, text: str, most: int) -> Iterator[str]:
    if len(text) > most:
        yield f"{what} has {len(text)} characters, {most} are allowed"
    unseen = {letter for letter in text if unicodedata.category(letter) in _UNSEEN or letter in _DIRECTIONS}
    if unseen:
        listing = ", ".join(ascii(letter) for letter in sorted(unseen)[:3])
        yield f"{what} holds control characters ({listing}); leave them out"


def config_faults(spec: RunSpec, worker: WorkerFacts) -> list[str]:
    """Return what is wrong with the config, and with training that environment by that worker."""
    config = dict(spec.config)
    faults = [f"config: {name} {told}" for name, told in _GIVEN.items() if name in config]
    # The agent adds these two; they take part in the check so that "required" holds.
    config |= {"run_id": "check", "seed": spec.seed}
    seen = validate_config(worker.config_schema, config)
    pair = _pair_faults(spec, worker)
    # The reason why a pair cannot work says more than a list of environments that would.
    seen = [fault for fault in seen if not (pair and fault.startswith("env_id: "))]
    return [*faults, *(f"config: {_with_place(fault, spec, worker)}" for fault in seen), *pair]


def seed_faults(seeds: Collection[int], worker: WorkerFacts) -> list[str]:
    """Return which of several *seeds* the worker does not take."""
    edges = sorted({min(seeds), max(seeds)}) if seeds else []
    seen = [fault for seed in edges for fault in validate_config(worker.config_schema, {"seed": seed})]
    return [f"config: {fault}" for fault in seen if fault.startswith("seed: ")]


def _with_place(fault: str, spec: RunSpec, worker: WorkerFacts) -> str:
    """Say where a hyper-parameter belongs that stands beside the settings."""
    name, _, told = fault.partition(": ")
    algo = spec.config.get("algo", default_of(worker.config_schema, "algo"))
    if told.startswith("is not a known field") and name in hyper_parameters(worker.config_schema, str(algo)):
        return f"{name}: is a hyper-parameter of {algo}; write algo_params.{name}"
    why = reason(name, spec.config.get(name)) if told.startswith("is not a known field") else None
    return f"{name}: {why}" if why else fault


def _pair_faults(spec: RunSpec, worker: WorkerFacts) -> list[str]:
    """A pair that cannot work is refused now, not after an hour in the queue."""
    asked = spec.config.get("env_id")
    environment = environments.find(asked) if isinstance(asked, str) else None
    reason = environments.why_not(environment, worker.capabilities) if environment else None
    if reason:
        return [f"worker {worker.name} cannot train on that environment: {reason}"]
    fault = pair_fault(worker.config_schema, spec.config)
    return [f"config: {fault}"] if fault else []


def capacity_faults(spec: RunSpec, worker: WorkerFacts, view: FleetView) -> list[str]:
    """Return why no machine of the fleet could ever hold the run."""
    needs = spec.resources
    if worker.capabilities.get("requires_gpu") and not (needs.gpus or needs.gpu_fraction):
        return [f"worker {worker.name} needs a GPU; ask for --gpus 1 or a fraction"]
    nodes = [view.nodes[agent.node_id] for agent in view.agents.values() if agent.worker == worker.name]
    # No agent at this moment is not a fault: a machine may come back while the run waits.
    if not nodes or any(_could_hold(needs, node) for node in nodes):
        return []
    largest = max(nodes, key=lambda node: (len(node.gpus), node.cpus, node.memory_mb))
    has = f"{largest.cpus:g} cpus, {largest.memory_mb} MB and {len(largest.gpus)} GPUs"
    return [f"no machine with worker {worker.name} could ever hold {_needs(needs)}; the largest has {has}"]


def _could_hold(needs: Resources, node: Node) -> bool:
    cards = [gpu for gpu in node.gpus if gpu.memory_mb >= needs.gpu_memory_mb]
    wanted = needs.gpus or (1 if needs.gpu_fraction else 0)
    return bool(needs.cpus <= node.cpus and needs.memory_mb <= node.memory_mb and wanted <= len(cards))


def _needs(needs: Resources) -> str:
    gpus = f" and {needs.gpus or needs.gpu_fraction:g} GPUs" if needs.gpus or needs.gpu_fraction else ""
    return f"{needs.cpus:g} cpus, {needs.memory_mb} MB{gpus}"
