"""Cornerwave: perturbed copies of data sets at many trust levels, issued on demand."""
