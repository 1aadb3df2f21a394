"""What stands behind the registry's ports."""
