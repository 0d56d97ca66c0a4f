"""Second evaluations and proofs, one result a file: the fresh process that runs them cannot import the search."""
