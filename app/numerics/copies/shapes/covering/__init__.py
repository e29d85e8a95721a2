"""What a shape must cover beside complete rows: rows with gaps, and rows that come later."""
