"""Figures 1 to 5 of [wu2003], and the measures of its sections 3.3 and 4.2."""

from __future__ import annotations

from papers.experiment import Experiment
from papers.wu2003_added_noise import figure_1, figure_2, figure_3, spectra
from papers.wu2003_one_step import figure_4, figure_5, measures

EXPERIMENTS = (
    Experiment("figure-1", "Figure 1: the direct estimate and EM", figure_1),
    Experiment("figure-2", "Figure 2: the direct estimate as the start of EM", figure_2),
    Experiment("figure-3", "Figure 3: ringing, and regularisation", figure_3),
    Experiment("section-3.3", "Section 3.3: spectra and information loss", spectra),
    Experiment("figure-4", "Figure 4: the one-step estimate", figure_4),
    Experiment("figure-5", "Figure 5: information loss against n", figure_5),
    Experiment("section-4.2", "Section 4.2: privacy loss over γ, σ and bins", measures),
)
