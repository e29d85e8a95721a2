"""Attacks, audits and single-level noise over HTTP."""
