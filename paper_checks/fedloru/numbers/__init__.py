"""Printed tables, averages, ranges and parameter counts of the three versions."""
