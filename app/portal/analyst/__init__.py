"""Pages for analysts: the catalogue, and a data set with its downloads."""
