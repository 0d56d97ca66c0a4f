"""Numbers with intervals, symmetric operators, and vectors in parts."""
