"""The environments of workers on this machine: how each is made, found, asked and removed."""
