"""What workers of the MOSAIC desktop use besides the contract: log codes, and frames in shared memory."""
