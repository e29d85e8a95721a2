"""Mathematics of a copy: noise, path, shape, records and grid [li2012]."""
