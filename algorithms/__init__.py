"""Each federated low-rank algorithm once, in the words of its paper, and the federation that they work with."""

import os

# Intel's library rounds a product of matrices by where its entries lie in memory, unless it is told not to; workers,
# whose messages lie elsewhere, would then not have the bits of one process. It reads this at its first product.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
