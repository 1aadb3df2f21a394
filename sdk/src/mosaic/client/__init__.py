"""The platform from Python: submit, follow, read, stop. The ``mosaic`` command does nothing else."""

from mosaic.client.endpoints import Endpoints
from mosaic.client.platform import Mosaic
from mosaic.client.values import (
    Attempt,
    Change,
    Curve,
    Episode,
    EventLine,
    Explanation,
    LogLine,
    Manifest,
    Resources,
    Run,
    RunDetail,
    SeriesInfo,
    Submission,
    Summary,
)

__all__ = [
    "Attempt",
    "Change",
    "Curve",
    "Endpoints",
    "Episode",
    "EventLine",
    "Explanation",
    "LogLine",
    "Manifest",
    "Mosaic",
    "Resources",
    "Run",
    "RunDetail",
    "SeriesInfo",
    "Submission",
    "Summary",
]
