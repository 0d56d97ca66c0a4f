"""Each federated low-rank algorithm once, in the words of its paper. No algorithm has moved in yet."""
