"""Federated low-rank algorithms in the notation of their papers, and the federation on which they run."""

import os

# By default, Intel's MKL rounds a matrix product differently depending on memory alignment. Workers keep their messages
# at other addresses, so their results would not be bit-identical to those of one process. MKL reads this variable at
# its first product.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
