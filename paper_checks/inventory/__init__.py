"""Contents of a paper, read from its source, and numbers and references in it that do not agree."""
