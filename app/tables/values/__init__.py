"""Values of cells: normalisation to doubles and text, dates, units."""
