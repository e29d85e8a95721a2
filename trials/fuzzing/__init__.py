"""Requests and tables that nobody meant well."""
