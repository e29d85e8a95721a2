"""The rows of a copy: made from a recipe, scheduled, and sent on their way."""
