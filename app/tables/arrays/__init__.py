"""Tables as the arrays that the numerics take, and back."""
