"""Decides whose run starts where and when, and what a failure means."""
