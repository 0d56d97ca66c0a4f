"""Where the work of an exchange is done, beside the process that asks for it."""
