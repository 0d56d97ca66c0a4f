"""Every claim of the papers, what was found about it, and the machinery that finds out."""
