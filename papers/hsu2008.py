"""Reproduction of [hsu2008]: tables 6 to 10, example 1 with figures 7 and 10, figure 8 and theorem 1."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.hsu2008_leakage import figure_8
from papers.hsu2008_parallelogram import example_1
from papers.hsu2008_tables import tables_6_to_10

EXPERIMENTS = (
    Experiment(
        "tables", "Tables 6 to 10: relative bias of five methods", tables_6_to_10, seed=20080824
    ),
    Experiment(
        "example1",
        "Example 1, figures 7 and 10: which methods fill the parallelogram",
        example_1,
        seed=20080824,
    ),
    Experiment("leakage", "Figure 8 and theorem 1: leaked records", figure_8, seed=20080824),
)
