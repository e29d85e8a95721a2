"""Preview of levels before one is issued: risk and utility."""
