"""The registry's rules: values and pure functions, no I/O."""
