"""Each federated low-rank algorithm once, in the words of its paper, and the federation that they work with."""
