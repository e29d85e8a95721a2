"""The shape of the noise, and what is known of the rows that it follows from."""
