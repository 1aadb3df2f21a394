from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from mosaic.worker import WorkerCapabilities, WorkerDiscovery, WorkerMetadata, discover_workers
from mosaic.worker.probe import describe_environment, probe

METADATA = 'WorkerMetadata("My Worker", "1.0.0", "words", "me", "https://x", "numpy", "1", "MIT")'
BEGINNING = "from mosaic.worker import WorkerCapabilities, WorkerMetadata\n"


def good_answer(worker_type: str) -> str:
    return (
        f"{BEGINNING}def get_worker_metadata():\n"
        f"    return {METADATA}, WorkerCapabilities('{worker_type}', ('sequential',), ('atari',))\n"
    )


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a distribution with one worker on the path, for this process and for its children."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def _install(worker_id: str, package: str, **modules: str) -> None:
        info = tmp_path / f"{package}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[mosaic.workers]\n{worker_id} = {package}:get_worker_metadata\n")
        (tmp_path / package).mkdir()
        for module, source in modules.items():
            (tmp_path / package / f"{module}.py").write_text(textwrap.dedent(source))
        sys.modules.pop(package, None)

    return _install


def test_workers_are_found_by_id_and_sorted(install: Any) -> None:
    install("zebra", "zebra_worker", __init__=good_answer("zebra"))
    install("ant", "ant_worker", __init__=good_answer("ant"))

    found = [worker for worker in discover_workers() if worker.worker_id in ("ant", "zebra")]

    assert ["ant", "zebra"] == [worker.worker_id for worker in found]
    assert "ant_worker:get_worker_metadata" == found[0].module_path
    assert isinstance(found[0].metadata, WorkerMetadata)


def test_the_entry_point_names_the_worker_whatever_it_says(install: Any, caplog: pytest.LogCaptureFixture) -> None:
    install("official", "odd_worker", __init__=good_answer("other"))

    worker = WorkerDiscovery().get_worker("official")

    assert worker is not None
    assert "other" == worker.capabilities.worker_type
    assert "calls its type 'other'" in caplog.text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise RuntimeError('no library')", "no library"),
        ("raise SystemExit(3)", "cannot be loaded"),
        ("def get_worker_metadata(): return [1, 2]", "returned list"),
        ("def get_worker_metadata(): return (1, 2)", "must be WorkerMetadata, is int"),
        (f"{BEGINNING}def get_worker_metadata(): return {METADATA}, 2", "must be WorkerCapabilities, is int"),
        ("def other(): pass", "get_worker_metadata"),
    ],
)
def test_a_broken_worker_is_logged_and_left_out(
    install: Any, caplog: pytest.LogCaptureFixture, source: str, words: str
) -> None:
    install("broken", "broken_worker", __init__=source)
    install("good", "good_worker", __init__=good_answer("good"))

    ids = WorkerDiscovery().list_worker_ids()

    assert "good" in ids
    assert "broken" not in ids
    assert words in caplog.text


def test_what_was_found_is_remembered_until_asked_to_look_again(install: Any) -> None:
    discovery = WorkerDiscovery()
    assert not discovery.has_worker("late")
    install("late", "late_worker", __init__=good_answer("late"))

    assert not discovery.has_worker("late")
    assert "late" in [worker.worker_id for worker in discovery.discover_all(force_reload=True)]
    discovery.clear_cache()
    assert discovery.has_worker("late")


def test_workers_are_filtered_by_what_they_can_do(install: Any) -> None:
    install("ant", "ant_worker", __init__=good_answer("ant"))
    discovery = WorkerDiscovery()

    assert "ant" in [worker.worker_id for worker in discovery.filter_by_paradigm("sequential")]
    assert "ant" not in [worker.worker_id for worker in discovery.filter_by_paradigm("self_play")]
    assert "ant" in [worker.worker_id for worker in discovery.filter_by_env_family("atari")]
    assert WorkerCapabilities("ant", ("sequential",), ("atari",)) == discovery.get_capabilities("ant")
    assert discovery.get_capabilities("bee") is None


CONFIG = """
    from dataclasses import dataclass

    @dataclass
    class MyConfig:
        run_id: str
        seed: int = 0
        def to_dict(self): return {}
        @classmethod
        def from_dict(cls, data): return cls(**data)
"""
RUNTIME = """
    raise RuntimeError("a probe must not import this")

    class MyRuntime:
        def run(self): return {}
        def request_stop(self): pass
        def resume_from(self, checkpoint): pass
"""


def probed(worker_id: str) -> Any:
    report = probe(sys.executable, timeout_s=60)
    assert () == report.faults
    (worker,) = [worker for worker in report.workers if worker.worker_id == worker_id]
    return worker


def test_a_probe_describes_a_worker_without_importing_its_runtime(install: Any) -> None:
    install("ant", "ant_worker", __init__=good_answer("ant"), __main__="", config=CONFIG, runtime=RUNTIME)

    worker = probed("ant")

    assert worker.is_usable
    assert ("-m", "ant_worker") == worker.launch
    assert "My Worker" == worker.metadata["name"]
    assert ["sequential"] == worker.capabilities["supported_paradigms"]
    assert {"run_id", "seed"} == set(worker.config_schema["properties"])
    assert ("Stoppable", "Resumable") == worker.optional_protocols
    assert "1.5" == worker.versions["ant_worker"]
    assert {"python", "platform", "numpy"} <= set(worker.versions)
    assert () == worker.faults


def test_a_worker_may_publish_its_own_schema_and_start_by_its_cli(install: Any) -> None:
    source = good_answer("ant") + "\ndef get_config_schema():\n    return {'title': 'own'}\n"
    install("ant", "ant_worker", __init__=source, cli="")

    worker = probed("ant")

    assert {"title": "own"} == worker.config_schema
    assert ("-m", "ant_worker.cli") == worker.launch


def test_a_worker_that_cannot_be_launched_says_so(install: Any) -> None:
    install("ant", "ant_worker", __init__=good_answer("ant"))

    worker = probed("ant")

    assert not worker.is_usable
    assert ("cannot be launched: ant_worker has no __main__.py, cli.py or *Runtime class",) == worker.faults


def test_a_broken_worker_is_a_fault_beside_good_ones(install: Any) -> None:
    install("bad", "bad_worker", __init__="print('noise'); raise RuntimeError('no library')")
    install("ant", "ant_worker", __init__=good_answer("ant"), __main__="")

    assert ("cannot be imported: RuntimeError: no library",) == probed("bad").faults
    assert probed("ant").is_usable


@pytest.mark.parametrize(
    ("source", "words"),
    [("import time; time.sleep(60)", "no answer within 1 s"), ("import os; os._exit(9)", "ended with 9")],
)
def test_a_worker_that_hangs_or_kills_the_probe_is_survived(install: Any, source: str, words: str) -> None:
    install("bad", "bad_worker", __init__=source)

    report = probe(sys.executable, timeout_s=1 if "sleep" in source else 60)

    assert () == report.workers
    assert words in report.faults[0]


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ('{"mosaic_probe": 2, "workers": []}', "answers in form 2, this one reads 1; install the same in both"),
        ('{"mosaic_probe": 1}', "its answer cannot be read (KeyError: 'workers')"),
        ('{"mosaic_probe": 1, "workers": [{"worker_id": "x"}], "versions": {}}', "KeyError: 'package'"),
        ('{"mosaic_probe": 1, "workers": 7, "versions": {}}', "TypeError"),
        ('{"mosaic_probe": 1, "workers": [], "versions": []}', "TypeError: [] is not an object"),
        ('["mosaic_probe"]', "ended with 0 and no answer"),
    ],
)
def test_an_answer_of_another_kind_is_a_fault_and_not_an_error(install: Any, printed: str, words: str) -> None:
    install("bad", "bad_worker", __init__=f"import os; print('{printed}', flush=True); os._exit(0)")

    report = probe(sys.executable, timeout_s=60)

    assert () == report.workers
    assert words in report.faults[0]


def test_what_a_worker_leaves_running_does_not_spoil_its_answer(install: Any) -> None:
    background = "\nimport subprocess\nleft = subprocess.Popen(['sleep', '600'])\n"
    install("ant", "ant_worker", __init__=good_answer("ant") + background, __main__="")

    assert probed("ant").is_usable


def test_an_interpreter_that_does_not_start_is_a_fault() -> None:
    assert ("cannot be started: No such file or directory",) == probe("/nowhere/python").faults


def test_the_document_is_marked_and_plain_json() -> None:
    document = json.loads(json.dumps(describe_environment()))

    assert 1 == document["mosaic_probe"]
    assert {"mosaic_probe", "python", "versions", "packages", "workers"} == set(document)
