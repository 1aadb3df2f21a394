"""What the world calls: the gRPC API and the consumer of the broker."""
