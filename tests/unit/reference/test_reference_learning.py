from __future__ import annotations

import numpy as np
import pytest
from mosaic_reference.episodes import Step, episode_seed, play_episode, train_episode
from mosaic_reference.learner import Learner
from mosaic_reference.tasks import TASKS, Tiles, Tiling, encoder_for, make_env


def a_learner(algo: str = "q_learning", **more: float) -> Learner:
    settings = {"learning_rate": 0.5, "gamma": 0.9, "trace_decay": 0.0} | more
    return Learner(actions=2, features=3, active=1, algo=algo, seed=1, **settings)


def state(number: int) -> np.ndarray:
    return np.array([number])


def test_every_environment_can_be_made_and_encoded() -> None:
    for task in TASKS.values():
        env = make_env(task.env_id, is_slippery=False)
        encoder = encoder_for(env, task)

        features = encoder.encode(env.reset(seed=1)[0])

        assert (encoder.active,) == features.shape
        assert features.min() >= 0
        assert features.max() < encoder.size
        env.close()


def test_observations_far_outside_the_box_still_have_tiles() -> None:
    tiles = Tiles(Tiling(low=(-1.0, -1.0), high=(1.0, 1.0), bins=4, tilings=8))

    for observation in (np.array([1e9, -1e9]), np.array([-1e9, 1e9])):
        features = tiles.encode(observation)
        assert 0 <= features.min() <= features.max() < tiles.size


def test_each_grid_has_its_own_tiles() -> None:
    tiles = Tiles(Tiling(low=(0.0, 0.0), high=(1.0, 1.0), bins=4, tilings=8))

    assert 8 == len(set(tiles.encode(np.array([0.5, 0.5]))))


def test_near_observations_share_tiles_and_far_ones_do_not() -> None:
    tiles = Tiles(Tiling(low=(0.0, 0.0), high=(1.0, 1.0), bins=4, tilings=8))
    here = set(tiles.encode(np.array([0.50, 0.50])))

    assert here & set(tiles.encode(np.array([0.55, 0.50])))
    assert not here & set(tiles.encode(np.array([0.95, 0.05])))


@pytest.mark.parametrize(
    ("algo", "expected_future"),
    [("q_learning", 4.0), ("sarsa", 2.0), ("expected_sarsa", 0.5 * 3.0 + 0.5 * 4.0)],
)
def test_each_algorithm_looks_ahead_in_its_own_way(algo: str, expected_future: float) -> None:
    learner = a_learner(algo)

    error = learner.learn(state(0), 0, 1.0, 0.0, np.array([4.0, 2.0]), next_action=1, epsilon=0.5)

    assert 1.0 + 0.9 * expected_future == error
    assert 0.5 * error == learner.weights[0, 0]


def test_a_finished_episode_has_no_future() -> None:
    learner = a_learner()

    assert 1.0 == learner.learn(state(0), 0, 1.0, 0.0, None, next_action=0, epsilon=0.0)


def test_traces_carry_credit_back_to_earlier_steps() -> None:
    learner = a_learner("sarsa", trace_decay=0.5)
    learner.learn(state(0), 0, 0.0, 0.0, np.zeros(2), 0, 0.0)

    learner.learn(state(1), 0, 1.0, 0.0, None, 0, 0.0)

    assert 0.5 == learner.weights[0, 1]
    assert 0.5 * 0.9 * 0.5 == learner.weights[0, 0]


def test_a_new_episode_has_no_traces_of_the_former() -> None:
    learner = a_learner("sarsa", trace_decay=0.5)
    learner.learn(state(0), 0, 0.0, 0.0, np.zeros(2), 0, 0.0)

    learner.begin_episode()
    learner.learn(state(1), 0, 1.0, 0.0, None, 0, 0.0)

    assert 0.0 == learner.weights[0, 0]


def test_a_restored_learner_goes_on_with_the_same_random_numbers() -> None:
    learner = a_learner()
    saved = learner.state()
    expected = [learner.act(np.zeros(2), epsilon=0.5) for _ in range(20)]

    learner.restore(saved)

    assert expected == [learner.act(np.zeros(2), epsilon=0.5) for _ in range(20)]


def test_every_episode_has_a_seed_of_its_own() -> None:
    seeds = {episode_seed(run, episode) for run in (1, 2) for episode in range(100)}

    assert 200 == len(seeds)


def test_playing_with_random_actions_follows_from_the_seed_and_leaves_the_learner_alone() -> None:
    task = TASKS["Taxi-v4"]
    env = make_env(task.env_id, is_slippery=False)
    encoder = encoder_for(env, task)
    learner = Learner(
        actions=6, features=encoder.size, active=1, algo="sarsa", learning_rate=0.5, gamma=1.0, trace_decay=0.0, seed=1
    )
    before = learner.state()

    first, again = (play_episode(env, encoder, learner, seed=3, epsilon=0.5) for _ in range(2))
    greedy = play_episode(env, encoder, learner, seed=3)

    assert first == again
    assert first.episode_return != greedy.episode_return
    assert before["generator"] == learner.state()["generator"]
    env.close()


def test_frozen_lake_is_learned_in_a_moment() -> None:
    task = TASKS["FrozenLake-v1"]
    env = make_env(task.env_id, is_slippery=False)
    encoder = encoder_for(env, task)
    learner = Learner(
        actions=4, features=16, active=1, algo="q_learning", learning_rate=0.2, gamma=0.99, trace_decay=0.0, seed=1
    )

    for episode in range(500):
        train_episode(
            env, encoder, learner, seed=episode, epsilon=max(0.0, 1 - episode / 400), after_step=lambda _: True
        )

    assert 1.0 == play_episode(env, encoder, learner, seed=1).episode_return
    env.close()


def test_an_episode_can_be_cut_short() -> None:
    task = TASKS["CartPole-v1"]
    env = make_env(task.env_id, is_slippery=False)
    encoder = encoder_for(env, task)
    learner = Learner(
        actions=2,
        features=encoder.size,
        active=encoder.active,
        algo="sarsa",
        learning_rate=0.3,
        gamma=0.99,
        trace_decay=0.9,
        seed=1,
    )
    steps: list[Step] = []

    def stop_after_three(step: Step) -> bool:
        steps.append(step)
        return len(steps) < 3

    assert train_episode(env, encoder, learner, seed=1, epsilon=0.0, after_step=stop_after_three) is None
    assert [1, 2, 3] == [step.number for step in steps]
    env.close()
