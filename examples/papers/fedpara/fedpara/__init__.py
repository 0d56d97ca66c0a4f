"""FedPara (Hyeon-Woo, Ye-Bin and Oh, ICLR 2022): the rank of a Hadamard product, and what it costs."""
