from __future__ import annotations

import itertools

from compose.make_secrets import faults_of, make, passwords_in, secret_files


def test_every_account_has_a_password_of_its_own():
    numbers = itertools.count()
    files = secret_files(lambda: f"password-{next(numbers)}-of-nobody")
    used = {password for name, text in files.items() for password in passwords_in(text, name)}

    assert {f"password-{number}-of-nobody" for number in range(6)} == used


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
