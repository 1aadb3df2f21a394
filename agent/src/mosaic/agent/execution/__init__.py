"""One attempt from its launch to its final report: run directory, child process, outcome, recovery."""
