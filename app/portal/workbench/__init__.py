"""Workbench: stateless methods on an uploaded file, run as jobs; only a job's result is kept."""
