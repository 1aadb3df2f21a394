"""Requests between services: generated protobuf code and what surrounds it."""
