"""What a worker prints, on its way out: pipes, lines, spool, shipper."""
