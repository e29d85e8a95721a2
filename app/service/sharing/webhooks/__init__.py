"""Webhooks: notifications of agreements to addresses of their parties."""
