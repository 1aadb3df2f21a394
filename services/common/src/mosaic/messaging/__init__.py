"""RabbitMQ: topology as data, publishing with confirms, consuming with verdicts."""
