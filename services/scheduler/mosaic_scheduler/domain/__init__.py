"""The policy and the life of runs: values in, values out, no I/O."""
