"""Who is given away by a table, and a table that gives away less."""
