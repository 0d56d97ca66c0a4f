"""Second implementations, symbols, settings and lemmas that several replays share."""
