"""Webhooks: what happens to agreements, told to addresses that their parties named."""
