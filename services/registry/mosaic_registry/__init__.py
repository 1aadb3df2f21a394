"""Knows which workers exist, what they can do, and which machines are alive."""
