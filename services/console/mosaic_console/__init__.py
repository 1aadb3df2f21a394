"""The front door: REST, one live stream and pages. It owns no data."""
