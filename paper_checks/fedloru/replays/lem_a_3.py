"""Lemma A.3: Weyl's inequalities.

Setting: `shared.dimension_counts`.
"""

from __future__ import annotations

from paper_checks.fedloru.replays.shared.dimension_counts import i, j, lower, n, upper
from paper_checks.replay import proof, require


@proof("fedloru-v2/lem-A.3")
def lem_A_3(upper_shift: int = 0, lower_shift: int = 0) -> str:
    r"""Both lines by dimensions, for every n, i and j.

    For (10) the three dimensions are $n - i + 1$, $n - j + 1$ and $i + j - 1$, for (11) $i$, $j$ and
    $n - (i + j - n) + 1$; they add up to $2n + 1$. Diagonal matrices with suitable orders attain equality.
    """
    require(upper(i + j - 1 + upper_shift), "a common vector for (10)")
    require(lower(i + j - n + lower_shift), "a common vector for (11)")
    return "we count the dimensions of three subspaces, with n, i and j as symbols"
