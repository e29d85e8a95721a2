"""Trials by faults: the service killed, starved, cut off and fuzzed from outside, over HTTP."""
