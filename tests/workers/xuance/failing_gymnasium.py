"""Makes one environment of gymnasium fail; put on ``PYTHONPATH`` as ``sitecustomize``."""

from __future__ import annotations

from gymnasium.envs.classic_control.cartpole import CartPoleEnv

_steps = iter(range(10**9))
_step = CartPoleEnv.step


def _failing_step(self, action):  # type: ignore[no-untyped-def]
    if next(_steps) == 100:
        raise ZeroDivisionError("the cart has no mass")
    return _step(self, action)


CartPoleEnv.step = _failing_step  # type: ignore[method-assign]
