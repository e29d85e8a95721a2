"""What the process that forks services has loaded before the first fork (tests/forked.py)."""

from trials.environment.fork_server import load

load()
