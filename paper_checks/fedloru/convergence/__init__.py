"""Section 4 and Appendices B to D: the algorithm boxes, the convergence theorem with its steps, and the costs."""
