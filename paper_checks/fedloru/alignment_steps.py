"""Appendix A.5 and A.6: the steps of the proof of Theorem 3.3 (eq. 51 to 58)."""
