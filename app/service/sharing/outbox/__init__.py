"""Outbox: messages to receivers outside, sent by jobs with one retry policy."""
