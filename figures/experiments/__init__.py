"""Experiments of the papers as data, with their costs, effects and tables."""
