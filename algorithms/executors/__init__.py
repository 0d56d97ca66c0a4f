"""Where the work of a trip is done, beside the process that asks for it."""
