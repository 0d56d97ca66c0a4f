"""Section 3.2: the alignment of low-rank gradients of two clients (Theorem 3.3)."""
