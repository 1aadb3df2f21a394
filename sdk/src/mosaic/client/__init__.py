"""The platform from Python: submit, follow, read, stop. The ``mosaic`` command does nothing else."""

from mosaic.errors import needs_extra

try:
    from mosaic.client.export import write_csv, write_jsonl, write_parquet
    from mosaic.client.login import Login
    from mosaic.client.platform import Mosaic
    from mosaic.client.values import (
        Curve,
        Episode,
        Episodes,
        Evaluation,
        EventLine,
        LogLine,
        Manifest,
        SeriesInfo,
        Summary,
    )
    from mosaic.model.attempt import Attempt, RunDetail
    from mosaic.model.fleet import Agent, Fleet, Gpu, Node, Worker
    from mosaic.model.resources import Lease, Resources
    from mosaic.model.run import Change, Explanation, Priority, Run, RunSpec
    from mosaic.model.team import Quota, Team
except ModuleNotFoundError as error:
    raise needs_extra("client", error) from None

__all__ = [
    "Agent",
    "Attempt",
    "Change",
    "Curve",
    "Episode",
    "Episodes",
    "Evaluation",
    "EventLine",
    "Explanation",
    "Fleet",
    "Gpu",
    "Lease",
    "LogLine",
    "Login",
    "Manifest",
    "Mosaic",
    "Node",
    "Priority",
    "Quota",
    "Resources",
    "Run",
    "RunDetail",
    "RunSpec",
    "SeriesInfo",
    "Summary",
    "Team",
    "Worker",
    "write_csv",
    "write_jsonl",
    "write_parquet",
]
