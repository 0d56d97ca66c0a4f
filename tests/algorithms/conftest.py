"""Lies here so that pytest puts this folder on the path: tests of the executors share `travelling`."""
