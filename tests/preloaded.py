"""What the process that forks services has loaded before the first fork (tests/forked.py)."""

from trials.stage.forking import load

load()
