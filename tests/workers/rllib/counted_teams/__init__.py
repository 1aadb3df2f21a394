"""A team of our own, named ``counted_teams:relay_v0``; imported by the worker's own interpreter."""
