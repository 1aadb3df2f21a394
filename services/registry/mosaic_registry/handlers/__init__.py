"""What the registry does, one function per request."""
