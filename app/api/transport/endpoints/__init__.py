"""Endpoints: route class, OpenAPI document, tables and pictures as answers, downloads."""
