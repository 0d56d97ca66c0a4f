"""Draws, runs and counts that several results are judged on."""
