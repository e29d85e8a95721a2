"""Demonstration: a generated data set with recipients and copies, set up as an owner would."""
