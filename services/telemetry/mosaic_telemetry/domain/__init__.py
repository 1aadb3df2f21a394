"""Pure: what was heard, curves, manifests. No I/O, no clock."""
