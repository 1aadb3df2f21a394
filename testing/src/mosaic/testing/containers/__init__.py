"""The platform in containers, for tests that want the real thing: `mosaic.testing.MosaicStack`.

Needs a Docker engine, the images (``make images``) and the extra ``mosaic-testing[containers]``. The engine's client is
loaded when a stack starts, so that importing `mosaic.testing` costs nothing and needs nothing.

``python -m mosaic.testing.containers`` removes what stacks of killed processes left behind.
"""
