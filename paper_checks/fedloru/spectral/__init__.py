"""Section 3 and Appendix A: the spectral theory, in all three versions."""
