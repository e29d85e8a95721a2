"""A request's body on its way in: in time, in turn, bounded, and read as tables or JSON."""
