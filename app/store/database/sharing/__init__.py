"""What agreements need kept: the agreements, their logs and rules, keys, deliveries and webhooks."""
