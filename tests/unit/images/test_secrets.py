from __future__ import annotations

import itertools
import os
import stat
from contextlib import contextmanager

import pytest

from compose.make_secrets import faults_of, make, passwords_in, secret_files


def test_every_account_has_a_password_of_its_own():
    numbers = itertools.count()
    files = secret_files(lambda: f"password-{next(numbers)}-of-nobody")
    used = {password for name, text in files.items() for password in passwords_in(text, name)}

    assert {f"password-{number}-of-nobody" for number in range(7)} == used


def test_an_agent_gets_the_broker_and_no_database():
    names = [name for name in secret_files() if name.startswith("agent/")]

    assert ["agent/broker-url"] == names


def test_a_second_start_keeps_the_passwords_of_the_first(tmp_path):
    make(tmp_path, given=False)
    before = (tmp_path / "postgres/password").read_text()

    assert [] == make(tmp_path, given=False)
    assert before == (tmp_path / "postgres/password").read_text()


def test_a_set_of_which_a_part_is_lost_is_not_completed_with_passwords_that_do_not_match(tmp_path):
    make(tmp_path, given=False)
    (tmp_path / "agent/broker-url").unlink()

    assert [f"{tmp_path}/agent/broker-url is missing"] == make(tmp_path, given=False)


def test_nothing_is_made_where_secrets_must_be_given(tmp_path):
    faults = make(tmp_path, given=True)

    assert len(secret_files()) == len(faults)
    assert [] == list(tmp_path.iterdir())


def test_a_password_that_can_be_guessed_is_refused_wherever_it_stands(tmp_path):
    for name, text in secret_files(lambda: "changeme").items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert len(secret_files()) == len(faults_of(tmp_path, secret_files()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postgres/password", "\n"),
        (
            "postgres/databases.sql",
            secret_files()["postgres/databases.sql"].replace("LOGIN PASSWORD", "LOGIN --", 1),
        ),
        ("rabbitmq/credentials.conf", ""),
        ("rabbitmq/credentials.conf", "# default_pass = a-password-of-nobody\n"),
        ("redis/redis.conf", "requirepass\n"),
        ("telemetry/redis-url", "redis://redis:6379/0"),
        ("agent/broker-url", "amqp://mosaic:a-password/of-nobody@rabbitmq:5672/"),
        ("agent/broker-url", "amqp://mosaic@rabbitmq:5672/"),
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
    (tmp_path / "agent/broker-url").unlink()
    (tmp_path / "agent/broker-url").mkdir()

    fault = f"{tmp_path}/agent/broker-url cannot be read (Is a directory): it and its folder must be readable for all"
    assert [fault] == make(tmp_path, given=True)


@contextmanager
def _umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)
