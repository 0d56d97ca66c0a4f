"""What a paper contains, read from its source: statements, equations, tables, references, and errata that show at once."""
