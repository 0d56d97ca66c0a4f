"""A paper whose author wants verdicts for statements that are false, unproved or not checked at all."""
