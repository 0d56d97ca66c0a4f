"""Appendix A.3: eigenvalues at the edges of the bulk (eq. 26 to 28), and the Weyl steps of the earlier versions."""
