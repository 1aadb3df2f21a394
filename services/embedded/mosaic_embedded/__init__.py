"""The whole platform in one process on one machine."""
