"""What levels would do, before any of them is issued: their risk and their use side by side."""
