"""Bodies of tables: byte streams, encrypted spool, size of JSON."""
