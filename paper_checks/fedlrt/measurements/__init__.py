"""Rounds, runs and counts that several results of FeDLRT are judged on."""
