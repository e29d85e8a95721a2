"""What fails around the service: looked for, told apart, and what a log may say of it."""
