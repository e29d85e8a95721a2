"""What is kept in SQLite or PostgreSQL: one module for each thing."""
