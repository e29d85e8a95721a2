"""What personal thing a column holds, by its values and by its name, in several languages."""
