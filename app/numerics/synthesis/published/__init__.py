"""The five methods that [hsu2008] measures: a numeric table in, a synthetic one out."""
