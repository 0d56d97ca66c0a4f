"""Appendix A.1 and A.3: Stieltjes transforms, free convolution and subordination."""
