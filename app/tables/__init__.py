"""What a table is, and its formats: CSV, Parquet, Arrow stream and JSON columns, as streams."""
