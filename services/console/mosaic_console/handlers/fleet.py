"""What is done to machines."""

from __future__ import annotations

from mosaic.errors import NotFound, did_you_mean
from mosaic_console.ports import Platform


def drain(platform: Platform, name: str, *, draining: bool) -> None:
    """Take the node or agent of that name out of planning, or back in; what runs there goes on.

    Raises:
        NotFound: there is none.
    """
    found = platform.fleet()
    nodes = [str(node.node_id) for node in found.nodes]
    agents = [str(agent.agent_id) for agent in found.agents]
    if name in nodes:
        platform.drain(node_id=name, draining=draining)
    elif name in agents:
        platform.drain(agent_id=name, draining=draining)
    else:
        hint = did_you_mean(name, nodes + agents)
        raise NotFound(f"no node or agent is called {name!r}{hint}; `mosaic fleet` lists them")
