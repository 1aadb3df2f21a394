"""The worker is found and says who it is."""

from __future__ import annotations

import re

from mosaic.errors import did_you_mean
from mosaic.ids import is_id
from mosaic.testing.evidence import Evidence
from mosaic.testing.report import Verdict, failed, judged, not_applicable, passed

#: Words that schedulers and people search capabilities by.
PARADIGMS = frozenset(
    {
        *("sequential", "parameter_sharing", "independent", "independent_learning", "shared_value_function"),
        *("centralized_critic", "value_decomposition", "self_play", "single_agent", "multi_agent"),
        *("llm_agent", "baseline", "human_vs_ai", "human_vs_human", "ai_vs_ai", "training", "evaluation"),
    }
)
ACTION_SPACES = frozenset({"discrete", "continuous", "multi_discrete", "multi_binary", "text"})
OBSERVATION_SPACES = frozenset({"vector", "image", "dict", "text", "mixed", "structured", "rgb", "board"})

_VERSION = re.compile(r"v?\d+(\.\d+)*([._-]?(a|b|rc|alpha|beta|dev|post)[._-]?\d*)*(\+[\w.]+)?", re.IGNORECASE)
_LICENCE = re.compile(r"(LicenseRef-)?[A-Za-z0-9][A-Za-z0-9.+-]*( (OR|AND|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*")
#: Licence names people write that SPDX does not know, and what they mean.
_NOT_SPDX = {"Apache": "Apache-2.0", "BSD": "BSD-3-Clause", "GPL": "GPL-3.0-only", "LGPL": "LGPL-3.0-only"}
RESUME_GRADES = frozenset({"A", "B", "C"})
_WORDS = (
    ("supported_paradigms", PARADIGMS),
    ("action_spaces", ACTION_SPACES),
    ("observation_spaces", OBSERVATION_SPACES),
)


def discovery(evidence: Evidence) -> Verdict:
    """An entry point names the worker, loads, and returns the pair that describes it."""
    subject = evidence.subject
    if subject.discovery_fault:
        return failed(subject.discovery_fault)
    if not is_id(subject.name):
        return failed(f"the name {subject.name!r} may hold only letters, digits and . _ @ -")
    return passed(f"{subject.name} = {subject.entry_point}, loaded in {subject.load_seconds:.2f} s")


def metadata(evidence: Evidence) -> Verdict:
    """Every field of the metadata says something a reader can use."""
    told = evidence.subject.metadata
    if not told:
        return not_applicable("discovery gave no metadata")
    texts = ("name", "version", "description", "author", "homepage", "license")
    faults = [f"{name} is empty" for name in texts if not str(told.get(name) or "").strip()]
    faults += [f"{name} is not text" for name in texts if not isinstance(told.get(name), str)]
    if not _VERSION.fullmatch(str(told.get("version"))):
        faults.append(f"version {told.get('version')!r} is not a version number")
    return judged(faults + _licence_faults(str(told.get("license"))), f"{told.get('name')} {told.get('version')}")


def capabilities(evidence: Evidence) -> Verdict:
    """The capabilities use known words and possible numbers."""
    told = evidence.subject.capabilities
    if not told:
        return not_applicable("discovery gave no capabilities")
    faults = [
        f"{field}: {word!r} is not a known word{did_you_mean(str(word), known)}"
        for field, known in _WORDS
        for word in told.get(field, ())
        if word not in known
    ]
    faults += [f"{field} is empty" for field in ("worker_type", "supported_paradigms") if not told.get(field)]
    for number, least in (
        ("max_agents", 1),
        ("cpu_cores", 1),
        ("estimated_memory_mb", 1),
        ("gpu_memory_mb", 0),
    ):
        value = told.get(number)
        if value is not None and (not isinstance(value, int) or value < least):
            faults.append(f"{number} is {value!r}; it must be a whole number of at least {least}")
    grade = told.get("resume_grade")
    if grade is not None and grade not in RESUME_GRADES:
        faults.append(f"resume_grade is {grade!r}; it is A, B, C or None")
    return judged(faults, f"{told['worker_type']}: {', '.join(told['supported_paradigms'])}")


def _licence_faults(licence: str) -> list[str]:
    if licence in _NOT_SPDX:
        return [f"licence {licence!r} is not an SPDX name; do you mean {_NOT_SPDX[licence]!r}?"]
    if not _LICENCE.fullmatch(licence):
        return [f"licence {licence!r} is not an SPDX name such as 'MIT' or 'Apache-2.0'"]
    return []
