"""Appendix A.4: index sets, counts and monotonicity in the proof of Theorem 3.2 (eq. 38, 41, 42)."""
