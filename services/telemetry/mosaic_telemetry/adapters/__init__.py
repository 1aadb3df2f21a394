"""The ports on real technology."""
