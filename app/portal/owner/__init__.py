"""The owner's rooms: registering a table, choosing levels, and watching over who has what."""
