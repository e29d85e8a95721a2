"""Request bodies: spooled, bounded, given a slot in turn, read as tables or JSON; asynchronous requests."""
