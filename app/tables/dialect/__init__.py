"""How a text spells a table: what separates fields, whether names come first, how numbers look."""
