"""Estimates of means, associations and regressions behind a copy, with standard errors."""
