"""Appendix D.3 and Figure 1: the stable rank estimated from a measured density."""
