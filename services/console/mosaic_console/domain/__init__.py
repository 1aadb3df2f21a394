"""Rules of the door, without I/O."""
