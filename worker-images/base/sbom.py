"""What is in an image, as CycloneDX: every Python distribution and every Debian package. Run by ``make sbom``.

python sbom.py IMAGE > image.cdx.json
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

_ENVIRONMENTS = "opt/*/lib/python3*/site-packages"
_DEBIAN = "var/lib/dpkg/status"
_INSPECT = '{{.Id}} {{index .Config.Labels "org.opencontainers.image.version"}}'


def components(root: Path = Path("/")) -> list[dict[str, Any]]:
    """Return everything installed under *root*, each once, by its name."""
    found = {one["bom-ref"]: one for one in (*_python(root), *_debian(root))}
    return sorted(found.values(), key=lambda one: str(one["bom-ref"]))


def document(image: str, identity: str, version: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the bill of materials of *image*."""
    subject = {"type": "container", "name": image, "version": version, "bom-ref": identity}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "components": found,
    }


def main(image: str) -> None:
    """Print the bill of *image*: this very file is run inside it, where the packages are."""
    identity, _, version = _output(["docker", "image", "inspect", "--format", _INSPECT, image]).partition(" ")
    run = [
        "docker",
        "run",
        "--rm",
        "--interactive",
        "--network",
        "none",
        "--read-only",
        "--entrypoint",
        "python",
        image,
    ]
    listed = _output([*run, "-", "--inside"], stdin=Path(__file__).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(document(image, identity, version.strip(), json.loads(listed)), indent=1) + "\n")


def _python(root: Path) -> Iterator[dict[str, Any]]:
    for place in sorted(root.glob(_ENVIRONMENTS)):
        for found in distributions(path=[str(place)]):
            name = found.metadata["Name"].lower().replace("_", "-")
            one = _component(name, found.version, f"pkg:pypi/{name}@{found.version}")
            # An older distribution has no such field, and what it says in words is no expression.
            licences = found.metadata.get_all("License-Expression") or []
            yield {**one, "licenses": [{"expression": licences[0]}]} if licences else one


def _debian(root: Path) -> Iterator[dict[str, Any]]:
    status = root / _DEBIAN
    entries = status.read_text(encoding="utf-8").split("\n\n") if status.is_file() else []
    for entry in entries:
        fields = HeaderParser().parsestr(entry)
        if fields["Package"] and "installed" in fields["Status"].split():
            place = f"pkg:deb/debian/{fields['Package']}@{fields['Version']}?arch={fields['Architecture']}"
            yield _component(fields["Package"], fields["Version"], place)


def _component(name: str, version: str, place: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": place, "bom-ref": place}


def _output(command: list[str], stdin: str | None = None) -> str:
    return subprocess.run(command, input=stdin, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        sys.stdout.write(json.dumps(components()))
    else:
        main(sys.argv[1])
