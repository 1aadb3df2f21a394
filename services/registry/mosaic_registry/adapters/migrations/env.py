from mosaic.hosting.database import run_migrations
from mosaic_registry.adapters.tables import metadata

run_migrations(metadata, version_table="registry_version")
