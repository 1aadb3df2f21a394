"""Schemas of the custom resources we write: exactly the fields we use, so that a misspelt one is refused.

Kubernetes' own kinds are checked by kubernetes-validate. What stands in a ScaledJob below `jobTargetRef` is the
spec of a Job, and is checked as one.
"""

from __future__ import annotations

from typing import Any


def _exactly(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT = {"type": "string", "minLength": 1}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_METADATA = _exactly({"name": _TEXT, "namespace": {"const": "mosaic"}}, {"labels": _TEXTS, "annotations": _TEXTS})
_SELECTOR = _exactly({"matchLabels": _TEXTS})
_ENDPOINT = _exactly({"port": _TEXT, "path": _TEXT, "interval": {"type": "string", "pattern": r"^\d+s$"}})

_TRIGGER = _exactly(
    {
        "type": {"const": "metrics-api"},
        "metadata": _exactly(
            {"url": _TEXT, "format": {"const": "prometheus"}, "valueLocation": _TEXT, "targetValue": _TEXT},
        ),
    }
)

_SCALED_JOB = _exactly(
    {
        "jobTargetRef": {"type": "object"},
        "triggers": {"type": "array", "items": _TRIGGER, "minItems": 1},
    },
    {
        "pollingInterval": _COUNT,
        "minReplicaCount": _COUNT,
        "maxReplicaCount": _COUNT,
        "successfulJobsHistoryLimit": _COUNT,
        "failedJobsHistoryLimit": _COUNT,
        "rollout": _exactly({"strategy": {"enum": ["default", "gradual"]}}),
        "scalingStrategy": _exactly(
            {"strategy": {"enum": ["default", "custom", "accurate", "eager"]}},
            {"pendingPodConditions": {"type": "array", "items": _TEXT}},
        ),
    },
)

_ALERT = _exactly(
    {
        "alert": {"type": "string", "pattern": "^Mosaic[A-Za-z]+$"},
        "expr": _TEXT,
        "labels": _exactly({"severity": {"enum": ["warning", "critical"]}}),
        "annotations": _exactly({"summary": _TEXT, "runbook": _TEXT}),
    },
    {"for": {"type": "string", "pattern": r"^\d+m$"}},
)
_GROUP = _exactly({"name": _TEXT, "rules": {"type": "array", "items": _ALERT, "minItems": 1}})

_SPECS = {
    ("keda.sh/v1alpha1", "ScaledJob"): _SCALED_JOB,
    ("cert-manager.io/v1", "Issuer"): _exactly({"ca": _exactly({"secretName": _TEXT})}),
    ("monitoring.coreos.com/v1", "ServiceMonitor"): _exactly(
        {"selector": _SELECTOR, "endpoints": {"type": "array", "items": _ENDPOINT, "minItems": 1}}
    ),
    ("monitoring.coreos.com/v1", "PodMonitor"): _exactly(
        {"selector": _SELECTOR, "podMetricsEndpoints": {"type": "array", "items": _ENDPOINT, "minItems": 1}},
        {"podTargetLabels": {"type": "array", "items": _TEXT}},
    ),
    ("monitoring.coreos.com/v1", "PrometheusRule"): _exactly({"groups": {"type": "array", "items": _GROUP}}),
}

#: The schema of each custom resource, by API version and kind.
CUSTOM = {
    (version, kind): _exactly(
        {"apiVersion": {"const": version}, "kind": {"const": kind}, "metadata": _METADATA, "spec": spec}
    )
    for (version, kind), spec in _SPECS.items()
}
