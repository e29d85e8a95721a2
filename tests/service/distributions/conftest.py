"""The app in this process, as for tests of the API."""

from tests.api.conftest import admin, service, start_service

__all__ = ["admin", "service", "start_service"]
