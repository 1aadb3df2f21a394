"""A simulated day as rows and as a page with plots."""
