from mosaic.hosting.database import run_migrations
from mosaic_scheduler.adapters.tables import metadata

run_migrations(metadata, version_table="scheduler_version")
