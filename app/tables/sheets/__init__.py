"""What a sheet of a workbook shows of its cells beside their values: units, merged cells, hidden rows."""
