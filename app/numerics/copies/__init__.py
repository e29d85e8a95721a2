"""The mathematics of a copy: noise, path, shape and grid [li2012]."""
