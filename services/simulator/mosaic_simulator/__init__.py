"""The same policy in event time, at fleet sizes nobody here owns."""
