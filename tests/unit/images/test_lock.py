from __future__ import annotations

from pathlib import Path

from tests.images import image_tool

lock = image_tool("lock")

ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")


def test_a_lock_is_read_with_its_markers_and_hashes():
    text = f"numpy==2.4.6 ; python_version >= '3.11' \\\n    --hash={ONE} \\\n    --hash={TWO}\nsix==1.17.0\n"

    pins, hashes = lock.read_lock(text)

    assert ["numpy==2.4.6 ; python_version >= '3.11'", "six==1.17.0"] == pins
    assert {pins[0]: [ONE, TWO], pins[1]: []} == hashes


def test_a_local_build_belongs_to_the_version_it_was_built_from():
    wheel = Path("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")

    assert lock._is_build_of(wheel, "torch==2.13.0")
    assert not lock._is_build_of(wheel, "torch==2.12.0")
