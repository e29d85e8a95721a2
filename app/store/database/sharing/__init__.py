"""What sharing needs kept: principals, sessions and grants; agreements, their logs and rules, deliveries and webhooks."""
