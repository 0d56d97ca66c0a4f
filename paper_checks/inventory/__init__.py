"""What a paper contains, read from its source, and what in its numbers and references does not add up."""
