from __future__ import annotations

from tests.images import image_tool

sbom = image_tool("sbom")

DPKG = """Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""


def test_python_distributions_and_installed_debian_packages_are_listed(tmp_path):
    _install(tmp_path / "opt/mosaic/lib/python3.11/site-packages", "Some_Thing", "1.2", "MIT")
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(DPKG)

    found = sbom.components(tmp_path)

    assert ["pkg:deb/debian/zlib1g@1:1.2.13?arch=amd64", "pkg:pypi/some-thing@1.2"] == [one["purl"] for one in found]
    assert [{"expression": "MIT"}] == found[1]["licenses"]


def test_what_two_environments_share_is_listed_once(tmp_path):
    for environment in ("mosaic", "worker"):
        _install(tmp_path / f"opt/{environment}/lib/python3.11/site-packages", "one", "1.0")

    assert ["pkg:pypi/one@1.0"] == [one["purl"] for one in sbom.components(tmp_path)]


def _install(place, name, version, licence=""):
    folder = place / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    described = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
    (folder / "METADATA").write_text(described + (f"License-Expression: {licence}\n" if licence else ""))
