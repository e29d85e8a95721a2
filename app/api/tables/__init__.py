"""Tables in and out over HTTP: CSV, Parquet, Arrow stream and JSON columns, as streams."""
