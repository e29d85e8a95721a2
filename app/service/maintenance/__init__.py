"""What whoever runs the service asks for: is all whole, keep a copy of it, bring it back."""
