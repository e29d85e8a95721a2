"""Caches for speed alone: losing one changes no answer."""
