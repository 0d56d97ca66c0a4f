"""Earlier versions, Appendix A.3: the proof of the stable-rank theorem by six sums."""
