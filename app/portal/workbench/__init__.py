"""The workbench: stateless methods on a file that somebody drops, done as jobs, and nothing kept but a job's result."""
