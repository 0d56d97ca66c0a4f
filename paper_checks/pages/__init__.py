"""Cards, the report, and formulas for both: the output that people read."""
