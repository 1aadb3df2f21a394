"""Real RabbitMQ, PostgreSQL and Redis for tests and benches.

For each, the first of these that works: a running one named by the environment
(``MOSAIC_TEST_AMQP_URL``, ``MOSAIC_TEST_POSTGRES_URL``, ``MOSAIC_TEST_REDIS_URL``), a Docker container,
the installed programs, the distribution's packages unpacked into a cache. When none does, the answer is
`tests.servers.handle.ServerMissing`, never a silent skip.

In tests, ask for the fixtures of `tests.servers.fixtures`. Elsewhere: ``with servers() as s: s.rabbitmq.url``
(`tests.servers.choice`), or `launch` for one server that may be killed.

``python -m tests.servers`` runs all three until Ctrl-C and prints the variables to export.
"""
