"""Measurements on which several results are judged."""
