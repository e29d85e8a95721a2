"""Requests on their way: as values, as bytes, sent and sent again."""
