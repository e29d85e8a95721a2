"""HTTP: one router per resource; problems, formats and pictures; nothing is decided here."""
