"""Wire messages read into client values, and submissions written for the wire."""

from __future__ import annotations

import json
from dataclasses import asdict

from mosaic.client import values
from mosaic.client.checks import faults_of
from mosaic.errors import BadInput
from mosaic.wire.convert import attempt_state_from_wire, from_timestamp, run_state_from_wire, to_timestamp
from mosaic.wire.v1 import registry_pb2, telemetry_pb2
from mosaic.wire.v1 import scheduler_pb2 as wire


def submit_request(asked: values.Submission, *, dry_run: bool) -> wire.SubmitRequest:
    """Return *asked* for the wire.

    Raises:
        BadInput: lists what cannot be sent.
    """
    faults = faults_of(asked)
    if faults:
        raise BadInput("submission", faults)
    needs = asked.resources
    spec = wire.RunSpec(
        worker=asked.worker,
        config_json=json.dumps(dict(asked.config)),
        name=asked.name,
        team=asked.team,
        user=asked.user,
        priority=asked.priority,
        resources=wire.Resources(
            cpus=needs.cpus,
            memory_mb=needs.memory_mb,
            gpus=needs.gpus,
            gpu_fraction=needs.gpu_fraction,
            gpu_memory_mb=needs.gpu_memory_mb,
        ),
        max_wall_s=asked.max_wall_s,
        max_retries=asked.max_retries,
        hang_limit_s=asked.hang_limit_s,
        labels=dict(asked.labels),
        secrets=dict(asked.secrets),
        environment=dict(asked.environment),
        not_before=to_timestamp(asked.not_before),
    )
    if asked.seed is not None:
        spec.seed = asked.seed
    return wire.SubmitRequest(spec=spec, seeds=asked.seeds, idempotency_key=asked.idempotency_key, dry_run=dry_run)


def run(message: wire.Run) -> values.Run:
    """Return the run of *message*."""
    spec, needs = message.spec, message.spec.resources
    submitted = from_timestamp(message.submitted_at)
    assert submitted is not None, "every run was submitted at some time"
    return values.Run(
        run_id=message.run_id,
        worker=spec.worker,
        state=run_state_from_wire(message.state),
        attempt=message.attempt,
        name=spec.name,
        team=spec.team,
        user=spec.user,
        priority=spec.priority,
        seed=spec.seed if spec.HasField("seed") else None,
        config=json.loads(spec.config_json or "{}"),
        reason_code=message.reason_code,
        reason=message.reason,
        submitted_at=submitted,
        started_at=from_timestamp(message.started_at),
        ended_at=from_timestamp(message.ended_at),
        config_digest=message.config_digest,
        agent_id=message.agent_id,
        node_id=message.node_id,
        gpu_ids=tuple(message.gpu_ids),
        labels=dict(spec.labels),
        resources=values.Resources(needs.cpus, needs.memory_mb, needs.gpus, needs.gpu_fraction, needs.gpu_memory_mb),
    )


def detail(message: wire.RunDetail) -> values.RunDetail:
    """Return the run, its attempts and its history."""
    return values.RunDetail(
        run(message.run),
        tuple(_attempt(attempt) for attempt in message.attempts),
        tuple(_change(change) for change in message.history),
    )


def _attempt(message: wire.Attempt) -> values.Attempt:
    return values.Attempt(
        attempt=message.attempt,
        state=attempt_state_from_wire(message.state),
        agent_id=message.agent_id,
        node_id=message.node_id,
        gpu_ids=tuple(message.gpu_ids),
        admitted_at=from_timestamp(message.admitted_at),
        claimed_at=from_timestamp(message.claimed_at),
        started_at=from_timestamp(message.started_at),
        ended_at=from_timestamp(message.ended_at),
        failure_kind=message.failure_kind,
        reason=message.reason,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        last_seq=message.last_seq,
        resumed_from=message.resumed_from,
    )


def _change(message: wire.Change) -> values.Change:
    return values.Change(
        from_timestamp(message.at),
        message.attempt,
        message.fact,
        message.before,
        message.after,
        message.actor,
        message.detail,
    )


def explanation(message: wire.ExplainResponse) -> values.Explanation:
    """Return why a run waits."""
    return values.Explanation(
        tuple(message.sentences),
        from_timestamp(message.estimated_start),
        message.assumption,
        message.queue_position,
    )


def series_info(message: telemetry_pb2.SeriesInfo) -> values.SeriesInfo:
    """Return what is known of a curve."""
    return values.SeriesInfo(
        name=message.key.name,
        agent=message.key.agent,
        attempt=message.attempt,
        count=message.count,
        last_step=message.last_step,
        last_value=message.last_value,
        min_value=message.min_value,
        max_value=message.max_value,
        unit=message.unit,
    )


def curve(name: str, agent: str, message: telemetry_pb2.ReadSeriesResponse) -> values.Curve:
    """Return the curve of *message*."""
    return values.Curve(
        name=name,
        agent=agent,
        unit=message.unit,
        total_points=message.total_points,
        steps=tuple(message.steps),
        means=tuple(message.means),
        minima=tuple(message.minima),
        maxima=tuple(message.maxima),
        counts=tuple(message.counts),
    )


def episode(message: telemetry_pb2.Episode) -> values.Episode:
    """Return the episode of *message*."""
    return values.Episode(
        attempt=message.attempt,
        seq=message.seq,
        index=message.index,
        agent=message.agent,
        episode_return=message.episode_return,
        length=message.length,
        step=message.step,
        time=message.time,
    )


def summary(message: telemetry_pb2.RunSummary) -> values.Summary:
    """Return the newest numbers of a run."""
    return values.Summary(
        run_id=message.run_id,
        events=message.events,
        last_step=message.last_step,
        steps_per_s=message.steps_per_s,
        mean_return=message.mean_return if message.has_returns else None,
        episodes=message.episodes,
        last_event_at=from_timestamp(message.last_event_at),
        is_sealed=message.sealed,
    )


def fleet(message: registry_pb2.Fleet) -> values.Fleet:
    """Return machines, agents and workers."""
    return values.Fleet(
        tuple(_node(node) for node in message.nodes),
        tuple(_agent(agent) for agent in message.agents),
        tuple(worker(known) for known in message.workers),
        message.revision,
    )


def _node(message: registry_pb2.Node) -> values.Node:
    return values.Node(
        node_id=message.node_id,
        hostname=message.hostname,
        cpus=message.cpus,
        memory_mb=message.memory_mb,
        gpus=tuple(values.Gpu(gpu.gpu_id, gpu.model, gpu.memory_mb, gpu.healthy, gpu.index) for gpu in message.gpus),
        draining=message.draining,
        alive=message.alive,
    )


def _agent(message: registry_pb2.Agent) -> values.Agent:
    return values.Agent(
        agent_id=message.agent_id,
        node_id=message.node_id,
        worker=message.worker,
        worker_version=message.worker_version,
        slots=message.slots,
        queue=message.queue,
        draining=message.draining,
        alive=message.alive,
        last_heartbeat=from_timestamp(message.last_heartbeat),
        protocol_version=message.protocol_version,
    )


def worker(message: registry_pb2.Worker) -> values.Worker:
    """Return what a worker tells about itself."""
    return values.Worker(
        name=message.name,
        version=message.version,
        description=message.description,
        upstream_library=message.upstream_library,
        upstream_version=message.upstream_version,
        metadata=json.loads(message.metadata_json or "{}"),
        capabilities=json.loads(message.capabilities_json or "{}"),
        config_schema=json.loads(message.config_schema_json or "{}"),
        image=message.image,
        versions=dict(message.versions),
        resume_grade=message.resume_grade,
        updated_at=from_timestamp(message.updated_at),
        launch=tuple(message.launch),
    )


def team(message: wire.Team) -> values.Team:
    """Return the terms of a team."""
    return values.Team(
        name=message.name,
        weight=message.weight,
        gpus=message.quota.gpus,
        cpus=message.quota.cpus,
        memory_mb=message.quota.memory_mb,
        lending_limit_gpus=message.lending_limit_gpus,
        borrowing_limit_gpus=message.borrowing_limit_gpus,
        max_running=message.max_running,
        max_queued=message.max_queued,
        max_running_per_user=message.max_running_per_user,
        max_queued_per_user=message.max_queued_per_user,
        max_gpus_per_user=message.max_gpus_per_user,
        max_wall_s=message.max_wall_s,
    )


def team_request(name: str, terms: values.TeamTerms) -> wire.Team:
    """Return the *terms* that are given, for the wire."""
    given = asdict(terms)
    quota = wire.Quota(**{part: given.pop(part) for part in ("gpus", "cpus", "memory_mb")})
    return wire.Team(name=name, quota=quota, **given)
