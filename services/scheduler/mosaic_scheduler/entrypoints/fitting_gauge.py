"""The gauge that autoscalers read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mosaic.errors import MosaicError
from mosaic.ids import WorkerName

log = structlog.get_logger(__name__)

NAME = "mosaic_scheduler_runs_that_would_fit"
_TEXT = "Queued runs that would start if there were more machines of their worker."


class FittingGauge(Collector):
    """Counts when it is scraped. While nothing can be counted it is left out, which is not the same as zero."""

    def __init__(self, count: Callable[[], Mapping[WorkerName, int]], registry: CollectorRegistry) -> None:
        self._count = count
        registry.register(self)

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Name the gauge without counting."""
        yield GaugeMetricFamily(NAME, _TEXT, labels=["worker"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count now."""
        family = GaugeMetricFamily(NAME, _TEXT, labels=["worker"])
        try:
            counts = self._count()
        except MosaicError as error:
            log.warning("autoscalers are told nothing", reason=str(error))
            return
        for worker, count in sorted(counts.items()):
            family.add_metric([worker], count)
        yield family
