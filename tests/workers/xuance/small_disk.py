"""Lets no file grow beyond a few kilobytes, as a full disk would; put on ``PYTHONPATH`` as ``sitecustomize``."""

from __future__ import annotations

import resource

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
