"""Lies here so that pytest puts this folder on the path: tests in the rooms below share `curvature_cases`."""
