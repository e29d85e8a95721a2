"""Tables: reading them from many formats, profiling their columns, writing them in five."""
