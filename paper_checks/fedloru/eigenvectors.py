"""Section 3.2 and Appendix A.5: what is assumed and shown about eigenvectors (Assumption A.5, Lemma A.6)."""
