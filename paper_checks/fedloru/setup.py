"""Section 3: the risk, the stable rank, and the model of the noise."""
