"""Dataspace Protocol 2025-1, provider side: catalogue, negotiations, transfers, callbacks."""
