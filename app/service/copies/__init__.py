"""Copies: levels, previews, issuing, files, history, tracing."""
