"""The use cases: ingest, finish, read, follow."""
