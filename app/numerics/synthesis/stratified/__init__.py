"""The stratified synthesis: strata, and what must hold within a record."""
