from __future__ import annotations

from mosaic.hosting.database import run_migrations
from mosaic_telemetry.adapters.tables import metadata

run_migrations(metadata, "telemetry_schema_version")
