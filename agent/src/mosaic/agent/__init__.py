"""The agent: the Celery worker of a worker image. It runs attempts as children and speaks for them."""
