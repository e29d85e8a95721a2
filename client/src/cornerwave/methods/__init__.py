"""Stateless methods: a table in, a table or a report out."""

from __future__ import annotations

from cornerwave.methods.attacks import Attacks
from cornerwave.methods.distributions import Distributions
from cornerwave.methods.swapping import Swapping
from cornerwave.methods.synthesis import Synthesis


class Methods(Attacks, Distributions, Swapping, Synthesis):
    """Stateless methods of the service."""
