"""Proof of the bound on the stable rank of a perturbed matrix."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.step_proofs import concluded
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values


def stable_rank(spectrum: list[tuple[Fraction, int]]) -> Fraction:
    """Of a diagonal matrix, by entries and how often each stands there."""
    return sum(v**2 * count for v, count in spectrum) / max(v**2 for v, _ in spectrum)


@proof("fedloru-v2/claim-srank-robust", power=2)
def claim_srank_robust(values: Values) -> Proof:
    r"""The triangle inequality in both norms, for every matrix.

    $(1-\delta)\|A\|_F \le \|A+E\|_F \le (1+\delta)\|A\|_F$ and $(1-\epsilon)\|A\|_2 \le \|A+E\|_2 \le
    (1+\epsilon)\|A\|_2$; the stable rank is the square of the quotient. Since $\|E\|_2 \le \|E\|_F$ and
    $\|A\|_2 \le \|A\|_F$ both sizes are at most $\|E\|_F/\|A\|_2$. That one of them is not enough is seen on diagonal
    matrices, $E = \epsilon(I_R - e_1e_1^T)$ on $A = e_1e_1^T$ and $E = \delta\sqrt R e_1e_1^T$ on $A = I_R$.
    """
    power, R, root = int(values["power"]), int(values["R"]), int(values["root"])
    epsilon, delta = Fraction(values["epsilon"]), Fraction(values["delta"])
    upper, lower = (1 + delta) / (1 - epsilon), (1 - delta) / (1 + epsilon)
    spread = stable_rank([(Fraction(1), 1), (epsilon, R - 1)])
    spiked = stable_rank([(1 + delta * root, 1), (Fraction(1), R - 1)])
    return concluded(
        [
            (0 < epsilon < 1 and 0 < delta < 1, "sizes between 0 and 1"),
            (upper**power == upper**2 and lower**power == lower**2, "the square of the quotient of the norms"),
            (spread == 1 + (R - 1) * epsilon**2, "the stable rank of the example"),
            (spread > ((1 + epsilon) / (1 - epsilon)) ** 2, "a small spectral norm alone is not enough"),
            (root**2 == R and R / spiked > ((1 + delta) / (1 - delta)) ** 2, "a small Frobenius norm alone neither"),
        ],
        "the triangle inequality in both norms, for every matrix and perturbation; two diagonal matrices in fractions "
        "for one norm alone",
    )
