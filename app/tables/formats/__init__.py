"""Parsers of table formats, and the writer of workbooks."""
