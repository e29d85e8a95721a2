"""What is kept for speed alone: lost, wrong or absent it changes no answer."""
