"""What the pages about Kubernetes tell people to type exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from mosaic.cli.app import app
from tests.contract.k8s.manifests import ROOT, Manifests

PAGES = [ROOT / "docs" / "how-to" / name for name in ("kubernetes.md", "runbook.md")]

_FENCED = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"(?<![\w/.])((?:k8s|compose|docs)/[\w./-]+)")
_NAMED = re.compile(r"\b(service|deployment|scaledjob)[/ ]([a-z][a-z-]*)(?![\w$-])")
_LINK = re.compile(r"\]\(([^)\s]*)\)")


def code(page: Path) -> list[str]:
    """Return every line of code of a page."""
    text = page.read_text(encoding="utf-8")
    blocks = [line.strip() for block in _FENCED.findall(text) for line in block.splitlines()]
    return blocks + _INLINE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def mosaic_commands(page: Path) -> list[list[str]]:
    lines = (shlex.split(line, comments=True) for line in code(page) if line.startswith("mosaic "))
    return [words[1:] for words in lines]


def faults(words: list[str], command: Any) -> list[str]:
    """Return the words that *command* does not know: verbs and options, not their values."""
    verbs = getattr(command, "commands", None)
    if verbs is not None:
        return faults(words[1:], verbs[words[0]]) if words[0] in verbs else [words[0]]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in words if word.startswith("-") and word not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_mosaic_command_is_one(page: Path) -> None:
    mosaic = typer.main.get_command(app)
    commands = mosaic_commands(page)

    assert commands
    assert {} == {" ".join(words): wrong for words in commands if (wrong := faults(words, mosaic))}


def test_a_command_that_does_not_exist_is_found() -> None:
    mosaic = typer.main.get_command(app)

    assert ["dreign"] == faults(["dreign", "NODE"], mosaic)
    assert ["--undoo"] == faults(["drain", "NODE", "--undoo"], mosaic)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = {name.rstrip(".") for line in code(page) for name in _PATH.findall(line)}
    # A placeholder in capitals, and what a command makes, are not files of the repository.
    expected = {name for name in named if not re.search(r"[A-Z]{3}|/secrets", name)}

    assert [] == sorted(name for name in expected if not (ROOT / name).exists())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if path.startswith("https://"):
            continue
        linked = (page.parent / path) if path else page
        headings = [line.lstrip("# ").lower() for line in linked.read_text().splitlines() if line.startswith("#")]
        assert not anchor or anchor in {heading.replace(" ", "-") for heading in headings}, target


def test_everything_that_kubectl_is_asked_about_exists(gpu: Manifests) -> None:
    kinds = {"service": "Service", "deployment": "Deployment", "scaledjob": "ScaledJob"}
    lines = [line for line in code(PAGES[1]) if line.startswith("kubectl")]
    named = {found for line in lines for found in _NAMED.findall(line)}

    assert named
    assert set() == {(kind, name) for kind, name in named if name not in gpu.of(kinds[kind])}
