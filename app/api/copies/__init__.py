"""Copies over HTTP: issue, show, download, and the history behind them."""
