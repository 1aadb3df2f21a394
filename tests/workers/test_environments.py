"""Every environment that the catalog says a worker can train on is really there, made and played as the worker does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mosaic.cli.envs import Worker
from mosaic.worker.environments import catalog
from tests.workers.conftest import InstalledWorker

pytestmark = pytest.mark.slow

_TRY_EACH = """
import json, sys, warnings
warnings.simplefilter("ignore")
faults = {}
for env_id in sys.argv[1:]:
    try:
        play(env_id)
    except Exception as error:
        faults[env_id] = f"{type(error).__name__}: {error}"[:300]
print(json.dumps(faults))
"""
_PLAY = {
    "xuance": """
from pathlib import Path
from xuance.environment import make_envs
from mosaic_xuance.catalog import recipes
from mosaic_xuance.config import XuanCeConfig
from mosaic_xuance.library import arguments
from mosaic_xuance.registry import register
def play(env_id):
    algo = next(recipe.algo for recipe in recipes() if recipe.serves(env_id))
    config = XuanCeConfig("play", algo=algo, env_id=env_id, num_envs=1)
    register(config.recipe.family.name, env_id)
    envs = make_envs(arguments(config, config.overrides(1, log_dir=Path(), model_dir=Path())))
    envs.reset()
    spaces = envs.action_space
    is_team = isinstance(spaces, dict)
    envs.step([{agent: space.sample() for agent, space in spaces.items()} if is_team else spaces.sample()])
    envs.close()
""",
    "rllib": """
from ray.rllib.core.models.catalog import Catalog
from mosaic_rllib.catalog import is_multi_agent
from mosaic_rllib.config import RLlibConfig
from mosaic_rllib.environments import cast_of, make_for_rllib
def play(env_id):
    cast_of(RLlibConfig("play", env_id=env_id))
    env = make_for_rllib({"env_id": env_id, "env_kwargs": {}})
    is_team = is_multi_agent(env_id)
    for agent in env.possible_agents if is_team else [None]:
        seen = env.get_observation_space(agent) if is_team else env.observation_space
        acted = env.get_action_space(agent) if is_team else env.action_space
        # It raises where RLlib has no network of its own for what is seen.
        Catalog(seen, acted, {}).build_encoder("torch")
        assert seen.dtype == "float32"
    observation, _ = env.reset(seed=1)
    action = {agent: env.get_action_space(agent).sample() for agent in env.possible_agents} if is_team else None
    observation, *_ = env.step(action or env.action_space.sample())
    assert is_team or env.observation_space.contains(observation)
    env.close()
""",
}


@pytest.mark.parametrize("name", sorted(_PLAY))
def test_what_the_catalog_offers_can_be_played(installed_worker: Callable[[str], InstalledWorker], name: str) -> None:
    worker = installed_worker(name)
    described = worker.described()
    published = Worker(described.capabilities, described.config_schema)

    offered = [env.env_id for env in catalog() if published.why_not(env) is None]

    assert 11 == sum(env_id.endswith("-v5") and "/" not in env_id for env_id in offered), "all MuJoCo tasks"
    assert {} == worker.answer(_PLAY[name] + _TRY_EACH, *offered)
