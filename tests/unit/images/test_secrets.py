from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from compose.make_secrets import (
    AGENTS,
    IDENTITIES,
    certificate_names,
    certificates,
    faults_of,
    make,
    passwords_in,
    rights,
    secret_files,
)
from mosaic.hosting.pki import Authority, holder_of, new_key, request_pem, utc_now
from mosaic.wire.tls import TlsFiles
from mosaic_registry.domain.credential import read
from tests.images import compose_file


def test_every_account_has_a_password_of_its_own():
    numbers = itertools.count()
    files = secret_files(lambda: f"password-{next(numbers)}-of-nobody")
    used = {password for name, text in files.items() for password in passwords_in(text, name)}

    assert {f"password-{number}-of-nobody" for number in range(13)} == used


def test_an_agent_gets_the_broker_and_no_database():
    names = [name for name in secret_files() if name.startswith("agent-")]

    assert [f"agent-{library}/broker-url" for library in AGENTS] == names


def test_every_agent_of_compose_has_an_account_of_its_own():
    services = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]
    mounted = {
        name: [volume["source"] for volume in service["volumes"] if isinstance(volume, dict)]
        for name, service in services.items()
        if name.startswith("agent-")
    }

    assert {f"agent-{library}": [f"secrets-agent-{library}"] for library in AGENTS} == mounted


@pytest.fixture(scope="module")
def identities():
    return certificates()


def test_the_key_of_the_ca_is_for_the_registry_alone_which_issues_with_it(identities, tmp_path):
    key = identities["registry/ca-key.pem"].partition("-----BEGIN PRIVATE KEY-----")[2]
    (tmp_path / "ca-key.pem").write_text(identities["registry/ca-key.pem"])
    issued = Authority.load(tmp_path / "ca-key.pem").issue_agent("agent-1", request_pem(new_key()), now=utc_now())

    assert ["registry/ca-key.pem"] == [name for name, text in identities.items() if key in text]
    assert "mosaic://agent/agent-1" == holder_of(issued.pem).uri


def test_every_part_has_a_certificate_that_names_it_and_a_key_of_its_own(identities, tmp_path):
    keys = set()
    for part in IDENTITIES:
        paths = {name: tmp_path / part / name for name in ("ca.pem", "identity.pem")}
        (tmp_path / part).mkdir()
        for name, path in paths.items():
            path.write_text(identities[f"{part}/{name}"])
        pem = TlsFiles(*(str(paths[name]) for name in ("ca.pem", "identity.pem", "identity.pem"))).read()
        keys.add(pem.key)
        agent = part.removeprefix("agent-")
        uri = f"mosaic://service/{part}" if part == agent else f"mosaic://agent/compose-{agent}"
        assert uri == holder_of(pem.certificate[pem.certificate.index(b"-----BEGIN CERT") :]).uri

    assert len(IDENTITIES) == len(keys)


def test_an_agent_of_compose_calls_itself_what_its_certificate_says():
    services = compose_file()["services"]
    names = {f"agent-{agent}": services[f"agent-{agent}"]["environment"]["MOSAIC_AGENT_AGENT_ID"] for agent in AGENTS}

    assert {part: f"URI:mosaic://agent/{name}" for part, name in names.items()} == {
        part: said for part, said in IDENTITIES.items() if part.startswith("agent-")
    }


def test_a_certificate_of_another_ca_is_refused(tmp_path, identities):
    make(tmp_path, given=False)
    (tmp_path / "agent-sb3/identity.pem").chmod(0o600)
    (tmp_path / "agent-sb3/identity.pem").write_text(identities["agent-sb3/identity.pem"])

    [fault] = make(tmp_path, given=True)
    assert fault.startswith(f"{tmp_path}/agent-sb3/identity.pem is no certificate of the CA in ")


def test_stores_are_given_digests_that_fit_the_passwords_of_their_users():
    files = secret_files()
    made = {user["name"]: user["password_hash"] for user in json.loads(files["rabbitmq/definitions.json"])["users"]}

    for user, digest in made.items():
        (password,) = passwords_in(files[f"{user}/broker-url"], "broker-url")
        salted = base64.b64decode(digest)
        assert salted[4:] == hashlib.sha256(salted[:4] + password.encode()).digest()
        assert password not in files["rabbitmq/definitions.json"]
    (password,) = passwords_in(files["telemetry/redis-url"], "redis-url")
    assert f"#{hashlib.sha256(password.encode()).hexdigest()} " in files["redis/redis.conf"]


def test_a_second_start_keeps_the_passwords_of_the_first(tmp_path):
    make(tmp_path, given=False)
    before = (tmp_path / "postgres/password").read_text()

    assert [] == make(tmp_path, given=False)
    assert before == (tmp_path / "postgres/password").read_text()


def test_a_set_of_which_a_part_is_lost_is_not_completed_with_passwords_that_do_not_match(tmp_path):
    make(tmp_path, given=False)
    (tmp_path / "agent-sb3/broker-url").unlink()

    assert [f"{tmp_path}/agent-sb3/broker-url is missing"] == make(tmp_path, given=False)


def test_nothing_is_made_where_secrets_must_be_given(tmp_path):
    faults = make(tmp_path, given=True)

    assert len(secret_files()) + len(certificate_names()) == len(faults)
    assert [] == list(tmp_path.iterdir())


def test_a_password_that_can_be_guessed_is_refused_wherever_it_stands(tmp_path):
    for name, text in secret_files(lambda: "changeme").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    secret = [name for name, text in secret_files().items() if passwords_in(text, name)]
    assert len(secret) == len(faults_of(tmp_path, secret_files()))


def test_the_token_of_the_admin_is_one_that_the_registry_takes():
    assert read(secret_files()["registry/admin-token"].strip()) is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postgres/password", "\n"),
        (
            "postgres/databases.sql",
            secret_files()["postgres/databases.sql"].replace("LOGIN PASSWORD", "LOGIN --", 1),
        ),
        ("telemetry/redis-url", "redis://redis:6379/0"),
        ("agent-sb3/broker-url", "amqp://mosaic:a-password/of-nobody@rabbitmq:5672/"),
        ("agent-sb3/broker-url", "amqp://mosaic@rabbitmq:5672/"),
    ],
)
def test_a_file_without_the_password_that_belongs_there_is_refused(tmp_path, name, text):
    make(tmp_path, given=False)
    (tmp_path / name).unlink()
    (tmp_path / name).write_text(text)

    [fault] = make(tmp_path, given=True)

    assert fault.startswith(f"{tmp_path}/{name} ")


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_on_a_host_only_the_owner_comes_near_and_in_a_container_everybody_reads(tmp_path, umask):
    with _umask(umask):
        make(tmp_path / "secrets", given=False)

    made = list((tmp_path / "secrets").rglob("*"))
    assert 0o700 == _mode(tmp_path / "secrets")
    assert {0o755} == {_mode(path) for path in made if path.is_dir()}
    assert {0o444} == {_mode(path) for path in made if path.is_file()}


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(tmp_path):
    make(tmp_path, given=False)
    (tmp_path / "agent-sb3/broker-url").unlink()
    (tmp_path / "agent-sb3/broker-url").mkdir()

    [fault] = make(tmp_path, given=True)
    assert fault.startswith(f"{tmp_path}/agent-sb3/broker-url cannot be read (Is a directory): it and its folder must")


@contextmanager
def _umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_page_about_brokers_of_ones_own_names_the_same_rights():
    page = Path("docs/how-to/broker.md").read_text().replace("\\|", "|").replace(r"WORKER\.AGENT", "QUEUE")
    users = {
        "scheduler": rights("scheduler"),
        "telemetry": rights("telemetry"),
        "agent": rights("agent", r"dispatch\.QUEUE"),
    }

    for user, granted in users.items():
        row = " | ".join(f"`{pattern}`" for pattern in granted.values())
        assert f"| {user} | {row} |" in page
