"""Runs: an algorithm on a problem, round by round, into a table, and into a folder that an interrupted run resumes."""
