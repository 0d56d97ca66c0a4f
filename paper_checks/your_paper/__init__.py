"""An example of a paper of one's own: one result a file, one of each method, and one that fails and is corrected."""
