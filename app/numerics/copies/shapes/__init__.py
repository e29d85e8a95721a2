"""Shape of the noise, and the moments that it follows from."""
