"""Section 3.1 and Appendix A.4: the stable rank as the dimension grows (Theorem 3.2, eq. 36, 37)."""
