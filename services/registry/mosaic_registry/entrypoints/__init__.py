"""How the world reaches the registry."""
