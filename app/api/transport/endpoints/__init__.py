"""Endpoints: the route class, its OpenAPI document, and answers as tables, pictures and files."""
