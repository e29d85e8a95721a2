"""Shared by all routes: authentication, problems, bodies, answers, downloads, idempotency, metrics."""
