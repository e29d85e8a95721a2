"""Column transforms around a synthesis: latent numbers for categories, normal scores."""
