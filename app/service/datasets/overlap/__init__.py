"""Whether rows and keys were seen before, in this data set or another."""
