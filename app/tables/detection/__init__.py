"""Detection of personal data in columns, by values and by names in several languages."""
