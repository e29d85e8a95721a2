"""Processes, servers and faults that the trials control."""
