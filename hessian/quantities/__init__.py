"""Quantities of a symmetric matrix, each with a confidence interval, from one basis and one set of probes."""
