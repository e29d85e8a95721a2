"""The applied variance a(v), and what rows tell of numbers and categories together."""
