"""Tables of sharing: principals, sessions, grants, agreements, deliveries, webhooks."""
