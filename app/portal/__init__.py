"""The pages of the service: what people do in a browser, by the same functions of `service` as the API."""
