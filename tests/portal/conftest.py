"""The app in this process, as for tests of the API."""

from tests.api.conftest import admin, service, service_on_each_database, start_service

__all__ = ["admin", "service", "service_on_each_database", "start_service"]
