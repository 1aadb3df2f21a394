"""What the agent and the services tell each other: membership, dispatch, leases, reports."""
