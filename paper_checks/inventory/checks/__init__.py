"""Mechanical checks: each is a function from what was read of a paper to candidates for errata."""
