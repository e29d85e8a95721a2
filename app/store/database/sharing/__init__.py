"""What sharing needs kept: callers, sessions and grants; agreements, their logs and rules, deliveries and webhooks."""
