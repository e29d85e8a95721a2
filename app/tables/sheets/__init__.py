"""Sheets of workbooks: sandbox process, extraction as CSV, layout."""
