from __future__ import annotations

from mosaic.installer.provenance import digest_of_lock, read_record
from tests.images import image_tool

library = image_tool("library")


def test_a_library_without_torch_comes_from_the_usual_index_alone(tmp_path):
    arguments = library.pip_arguments(_lock(tmp_path, "numpy==2.4.6"), torch="cpu", wheels=tmp_path)

    assert not {"--extra-index-url", "--find-links"} & set(arguments)
    assert {"--require-hashes", "--no-deps"} <= set(arguments)


def test_torch_for_cpus_comes_from_its_own_index(tmp_path):
    arguments = library.pip_arguments(_lock(tmp_path, "torch==2.13.0"), torch="cpu", wheels=tmp_path)

    assert ["--extra-index-url", library.TORCH_CPU_INDEX] == arguments[-2:]


def test_a_wheel_on_the_spot_comes_before_the_index(tmp_path):
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").touch()
    arguments = library.pip_arguments(_lock(tmp_path, "torch==2.13.0"), torch="cpu", wheels=tmp_path)

    assert ["--find-links", str(tmp_path)] == arguments[-2:]


def test_torch_for_gpus_brings_the_libraries_of_cuda(tmp_path):
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").touch()
    arguments = library.pip_arguments(_lock(tmp_path, "torch==2.13.0"), torch="cuda", wheels=tmp_path)

    assert ["--requirement", str(library.CUDA_LOCK)] == arguments[-2:]
    assert "--find-links" not in arguments


def test_an_image_keeps_the_digest_of_its_lock_where_its_agent_looks_for_it(tmp_path):
    """The same digest as an environment made by ``mosaic workers install`` from that lock."""
    lock = _lock(tmp_path, "torch==2.13.0")
    (tmp_path / "bin").mkdir()

    library.write_record(tmp_path, lock.read_bytes())

    assert {"lock_digest": digest_of_lock(lock)} == read_record(str(tmp_path / "bin" / "python"))


def test_a_lock_is_made_to_name_the_build_for_cpus(tmp_path):
    lock = _lock(tmp_path, "torch==2.13.0")
    library.choose_torch(lock, "cpu")

    assert lock.read_text().startswith("torch==2.13.0+cpu \\\n")


def test_a_lock_is_left_alone_for_gpus(tmp_path):
    lock = _lock(tmp_path, "torch==2.13.0")
    library.choose_torch(lock, "cuda")

    assert lock.read_text().startswith("torch==2.13.0 \\\n")


def _lock(folder, pin):
    path = folder / "requirements.lock"
    path.write_text(f"{pin} \\\n    --hash=sha256:{'0' * 64}\n")
    return path
