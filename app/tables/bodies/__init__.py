"""A body before it is a table: unpacked, set aside, its format and encoding found."""
