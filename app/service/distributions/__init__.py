"""Distributions behind perturbed values, and surveys with randomised responses."""
