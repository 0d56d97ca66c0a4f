"""Every claim of the papers, what was found about it, and the machinery that finds out."""

GROUP = "rankproof.papers"
"""Entry points of installed papers, such as ``my-paper = "my_paper.paper:PAPER"``."""
