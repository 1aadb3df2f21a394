"""Look at a worker, start it as the fleet would and read what it prints: for dry runs and for the conformance kit.

`inspection` and `fault` run inside the environment of the worker, so all of it needs nothing but Python.
"""
