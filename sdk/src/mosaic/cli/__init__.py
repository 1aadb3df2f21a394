"""The ``mosaic`` command: a client like any other."""
