"""Environments are as the catalog says, and those it offers with a worker are made and played as that worker does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mosaic.cli.envs import Worker
from mosaic.worker.environments import Environment, Space, catalog
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
    "cleanrl": """
import runpy
from functools import cache
from inspect import signature
import torch
from mosaic.worker.suitability import pair_fault
from mosaic_cleanrl.environments import hooked_environments
from mosaic_cleanrl.evaluation import Spectator, _acting
from mosaic_cleanrl.schema import published_schema
from mosaic_cleanrl.scripts import installed_scripts
schema = published_schema()
scripts = [script for name, script in installed_scripts().items() if name in schema["x-algorithms"]]
# Scripts of both interfaces cannot wrap Atari in one process, and a recurrent policy needs to be told its past.
scripts = [one for one in scripts if not (one.is_for_atari and one.api == "gymnasium") and "lstm" not in one.name]
@cache
def parts_of(module):
    return runpy.run_module(module, run_name="play")
def play(env_id):
    suitable = [one for one in scripts if pair_fault(schema, {"algo": one.name, "env_id": env_id}) is None]
    assert suitable
    for script in suitable:
        given = {name: parameter.default for name, parameter in script.parameters.items()}
        given |= {"env_id": env_id, "seed": 1, "idx": 0, "capture_video": False, "run_name": "play"}
        with hooked_environments(Spectator(script)):
            parts = parts_of(script.module)
            make = parts["make_env"]
            thunk = make(**{name: given[name] for name in signature(make).parameters})
            envs = parts["gym"].vector.SyncVectorEnv([thunk])
        network = next(parts[name] for name in ("Agent", "Actor", "QNetwork") if name in parts)
        network = network(envs, **{name: given[name] for name in list(signature(network).parameters)[1:]})
        answer = envs.reset()
        seen = answer[0] if isinstance(answer, tuple) else answer
        with torch.no_grad():
            envs.step(_acting(network, script.name)(torch.Tensor(seen)).numpy())
        envs.close()
""",
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


_LOOK = """
import json, re, sys, warnings
from importlib import import_module
from importlib.util import find_spec
warnings.simplefilter("ignore")
import gymnasium
for package in ("minigrid", "ale_py"):
    if find_spec(package):
        import_module(package)
if find_spec("ale_py") and "PongNoFrameskip-v4" not in gymnasium.registry:
    import_module("ale_py").register_v0_v4_envs()
homes = [] if not find_spec("pettingzoo") else ["mpe2"] if find_spec("mpe2") else ["pettingzoo.mpe"]
homes += ["pettingzoo.classic", "pettingzoo.butterfly", "pettingzoo.sisl"] if homes else []
def seen(found):
    return {name: value for name, value in space(found).items() if name != "range"}
def space(found):
    kind = type(found).__name__
    if kind == "Dict":
        main = next(name for name in ("image", "observation") if name in found.spaces)
        return {**seen(found[main]), "beside": sorted(name for name in found.spaces if name != main)}
    if kind == "Box":
        return {"shape": found.shape, "range": [round(float(found.low.min()), 4), round(float(found.high.max()), 4)]}
    return {"choices": [int(one.n) for one in (found.spaces if kind == "Tuple" else [found])]}
def alone(env_id):
    env, spec = gymnasium.make(env_id), gymnasium.spec(env_id)
    env.reset(seed=1)
    frames = spec.kwargs.get("max_num_frames_per_episode")
    limit = frames // spec.kwargs["frameskip"] if frames else getattr(env.unwrapped, "max_steps", None)
    roles = {"agent": [1, seen(env.observation_space), space(env.action_space)]}
    env.close()
    return [roles, spec.max_episode_steps or limit, spec.reward_threshold]
def team(env_id):
    home = import_module(next(f"{one}.{env_id}" for one in homes if find_spec(f"{one}.{env_id}")))
    env = (home.parallel_env if hasattr(home, "parallel_env") else home.env)()
    env.reset(seed=1)
    roles = {}
    for agent in env.possible_agents:
        facts = [seen(env.observation_space(agent)), space(env.action_space(agent))]
        role = roles.setdefault(re.sub("_[0-9]+$", "", agent), [0, *facts])
        assert role[1:] == facts
        role[0] += 1
    limits = [getattr(one, "max_cycles", None) for one in (env.unwrapped, getattr(env.unwrapped, "env", None))]
    env.close()
    return [roles, limits[0] or limits[1], None]
found = {}
for env_id in sys.argv[1:]:
    try:
        found[env_id] = (team if re.search("_v[0-9]+$", env_id) else alone)(env_id)
    except Exception:
        continue
print(json.dumps(found))
"""
#: Listed so that they are refused with the name of the version that is there.
_NOWHERE = {"cooperative_pong_v6", "knights_archers_zombies_v11"}


def test_environments_are_as_the_catalog_says(installed_worker: Callable[[str], InstalledWorker]) -> None:
    names = [env.env_id for env in catalog()]
    seen = {name: installed_worker(name).answer(_LOOK, *names) for name in sorted(_PLAY)}
    # The reference worker has the Gymnasium of this interpreter.
    own = subprocess.run([sys.executable, "-c", _LOOK, *names], capture_output=True, text=True, check=True)
    seen["reference"] = json.loads(own.stdout.splitlines()[-1])

    assert set(names) - _NOWHERE == {name for found in seen.values() for name in found}
    expected = {env.env_id: _facts(env) for env in catalog()}
    faults = [
        f"{library}: {name} is {facts}, not {expected[name]}"
        for library, found in seen.items()
        for name, facts in found.items()
        if facts != expected[name]
    ]
    assert [] == faults


def test_what_cleanrl_says_it_lacks_is_what_its_libraries_cannot_make(
    installed_worker: Callable[[str], InstalledWorker],
) -> None:
    worker = installed_worker("cleanrl")
    accepted = worker.described().capabilities["env_families"]
    names = [env.env_id for env in catalog() if env.family in accepted]

    assert set(names) - set(worker.answer(_LOOK, *names)) == set(worker.schema()["x-missing-environments"])


def _facts(env: Environment) -> list[Any]:
    roles = {role.name: [role.agents, _space(role.sees), _space(role.does)] for role in env.roles}
    return [roles, env.max_steps, env.solved_at]


def _space(space: Space) -> dict[str, Any]:
    told = {"shape": space.shape, "choices": space.choices, "range": space.range, "beside": space.beside}
    return {name: list(value) for name, value in told.items() if value}


@pytest.mark.parametrize("name", sorted(_PLAY))
def test_what_the_catalog_offers_can_be_played(installed_worker: Callable[[str], InstalledWorker], name: str) -> None:
    worker = installed_worker(name)
    described = worker.described()
    published = Worker(described.capabilities, described.config_schema)

    offered = [env.env_id for env in catalog() if published.why_not(env) is None]

    version = "-v4" if name == "cleanrl" else "-v5"
    tasks = {env.env_id for env in catalog() if env.family == "mujoco" and env.env_id.endswith(version)}
    assert 11 == len(tasks & set(offered)), "all MuJoCo tasks"
    assert {} == worker.answer(_PLAY[name] + _TRY_EACH, *offered)
