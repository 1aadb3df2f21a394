"""The command loop around a trained policy."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from mosaic.worker.interactive import serve


class ThreeSteps:
    """An environment whose episodes last three steps and pay the action."""

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        self.left = 3
        return [0.0, float(seed or 0)], {"action_mask": [1, 0]}

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.left -= 1
        return [1.0, 1.0], action, self.left == 0, False, {}


def answers_to(*commands: Any, env: ThreeSteps | None = None) -> list[dict[str, Any]]:
    lines = [command if isinstance(command, str) else json.dumps(command) for command in commands]
    output = io.StringIO()
    serve(lambda observation, mask: 2, env, run_id="r", env_id="Three-v0", commands=lines, answers=output)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_the_first_line_greets() -> None:
    (greeting,) = answers_to()

    assert {"init", "r", "Three-v0", "1.0"} <= {str(value) for value in greeting.values()}


def test_an_episode_is_played_step_by_step() -> None:
    step = {"cmd": "step"}

    _, ready, *played, done = answers_to({"cmd": "reset", "seed": 4}, step, step, step, env=ThreeSteps())

    assert (4, [0.0, 4.0], 0) == (ready["seed"], ready["observation"], ready["step_index"])
    assert [1, 2, 3] == [answer["step_index"] for answer in played]
    assert ("episode_done", 6.0, 3) == (done["type"], done["total_reward"], done["episode_length"])


def test_a_step_may_bring_its_own_action() -> None:
    _, _, step = answers_to({"cmd": "reset"}, {"cmd": "step", "action": 7}, env=ThreeSteps())

    assert (7, 7.0) == (step["action"], step["reward"])


def test_an_action_is_selected_without_an_environment() -> None:
    _, ready, selected = answers_to(
        {"cmd": "init_agent", "game_name": "chess", "player_id": "white"},
        {"cmd": "select_action", "observation": [0, 1], "player_id": "white"},
    )

    assert ("agent_initialized", "white") == (ready["type"], ready["player_id"])
    assert ("action_selected", "white", 2) == (selected["type"], selected["player_id"], selected["action"])


def test_faults_are_answered_and_the_loop_goes_on() -> None:
    _, *errors, pong = answers_to("{", "[1]", {"cmd": "stepp"}, {"cmd": "step"}, {"cmd": "reset"}, {"cmd": "ping"})

    assert ["error"] * 5 == [answer["type"] for answer in errors]
    assert "did you mean 'step'?" in errors[2]["message"]
    assert "pong" == pong["type"]


def test_a_policy_that_raises_is_an_error_not_the_end() -> None:
    output = io.StringIO()

    def broken(observation: Any, mask: Any) -> Any:
        raise ValueError("wrong shape")

    serve(
        broken,
        run_id="r",
        env_id="x",
        commands=['{"cmd": "select_action", "observation": 1}', '{"cmd": "ping"}'],
        answers=output,
    )

    assert "ValueError: wrong shape" in output.getvalue()
    assert '"pong"' in output.getvalue()


def test_stop_ends_the_loop_before_later_commands() -> None:
    _, stopped = answers_to({"cmd": "stop"}, {"cmd": "ping"})

    assert "stopped" == stopped["type"]


def test_a_wish_to_stop_ends_the_loop_although_no_command_comes() -> None:
    wishes = iter([False, True])

    def silence() -> Iterator[str]:
        while True:
            yield "\n"

    serve(
        lambda observation, mask: 0,
        run_id="r",
        env_id="x",
        commands=silence(),
        answers=io.StringIO(),
        should_stop=lambda: next(wishes),
    )


def test_commands_are_not_read_far_ahead_of_their_answers() -> None:
    taken = 0

    def flood() -> Iterator[str]:
        nonlocal taken
        for _ in range(10_000):
            taken += 1
            yield '{"cmd": "ping"}\n'

    answered = iter([False] * 10 + [True])

    serve(
        lambda *_: 0,
        None,
        run_id="r",
        env_id="x",
        commands=flood(),
        answers=io.StringIO(),
        should_stop=lambda: next(answered),
    )

    assert taken < 100
