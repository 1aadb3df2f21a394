"""The telemetry service: every event once, every run a manifest."""
