"""Fleets, policies and traces that people write by hand, read with every fault and its line."""
