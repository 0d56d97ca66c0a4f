"""Replays of the claims in ``edges``."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions

LAW = "entries of X are size sigma, of either sign, with probability R^-1.5/size^2, else Gaussian"


def rare_entries(values: Values) -> tuple[int, Fraction, list[Hypothesis]]:
    r"""R, the probability p of a large entry, and what is assumed of the law of all entries.

    Independent entries from one law: $\pm a\sigma$ with probability $p = R^{-3/2}/a^2$, Gaussian otherwise. The large
    entries touch $O(\sqrt R)$ of the R rows, so the limiting density is that of the Gaussian part, whose entries have
    variance $(1 - R^{-1/2})/(1-p)$ of $\sigma^2/R$.
    """
    root, (size, edge) = int(values["root_of_R"]), fractions(values, "size", "edge")
    known = assuming(Hypothesis("root of R", root, ">", 0), Hypothesis("large entries over sigma", size, ">", 0))
    R = root**2
    p = 1 / (size**2 * root**3)
    left_over = (1 - p * size**2 * R) / (1 - p)  # variance of the Gaussian part, in units of sigma^2 / R
    share = p * (R - 1)
    assumes = [
        *known,
        Hypothesis("p, a probability", p, "<", 1),
        Hypothesis("share of the rows with large entries", share, "<=", Fraction(1, 100)),
        Hypothesis("variance of the Gaussian part", left_over, ">=", Fraction(49, 50)),
        Hypothesis("large entries over sigma, against U", size, ">", edge),
        Hypothesis("U over sigma", edge, "=", 2),
    ]
    return R, p, assumes


def without_large(p: Fraction, pairs: int) -> Fraction:
    """P(no large entry among some) = (1 - p)^pairs <= exp(-x) <= 1/(1 + x + x^2/2 + ...), x = p * pairs."""
    return 1 / sum(((p * pairs) ** k / factorial(k) for k in range(12)), Fraction(0))


@replay("fedloru-v2/eq-26-27")
def eq_26_27_as_printed(values: Values) -> Violation:
    r"""A large entry in row i and column j gives the Rayleigh quotients $(X_{ii}+X_{jj})/2 \pm a\sigma$.

    Hence $\max(\lambda_1, -\lambda_R) \ge a\sigma$.
    """
    R, p, assumes = rare_entries(values)
    event = f"{LAW}: P(max(lambda_1, -lambda_R) >= {float(values['size']):g} sigma s_N)"
    return Violation(
        1 - without_large(p, R * (R - 1) // 2),
        Fraction(1, 2),
        assumes=assumes,
        reads=f"{event}, from below, against 1/2",
    )


@replay("fedloru-v2/eq-29")
def eq_29_as_printed(values: Values) -> Violation:
    r"""A large entry in each of $m = p + q + 1$ blocks of indices gives m orthonormal vectors, $3\sigma$ on each.

    The part that joins them, and the diagonal, has variance at most $\sigma^2/R$ in each of $m^2$ places and does not
    depend on where the large entries are; by Markov's inequality its Frobenius norm exceeds half of
    $a\sigma - U/s_N$ with probability at most $m^2/R$ over the square of that. So $\lambda_m(\epsilon_N) > U_N$ by a
    fixed amount, and $\lambda_{p+1}(H_N) \ge \lambda_{p+1+q}(\epsilon_N)$ by (25).
    """
    R, p, assumes = rare_entries(values)
    size, edge = fractions(values, "size", "edge")
    positive, negative = int(values["positive"]), int(values["negative"])
    assumes += [Hypothesis("p", positive, ">=", 0), Hypothesis("q", negative, ">=", 0)]
    blocks = max(positive, 0) + max(negative, 0) + 1
    block, room = R // blocks, (size - edge) / 2
    joined = Fraction(blocks**2, R) / room**2 if room else Fraction(1)
    event = f"{LAW}, p = positive, q = negative: P(lambda_{positive + 1}(H_N) >= {float(edge + room):g} sigma s_N)"
    return Violation(
        1 - blocks * without_large(p, block * (block - 1) // 2) - joined,
        Fraction(1, 2),
        assumes=assumes,
        reads=f"{event}, from below, against 1/2",
    )


def noise(sigma: Fraction, s: Fraction) -> list[Hypothesis]:
    """Noise of a sample size: sigma > 0, s in (0, 1)."""
    return [Hypothesis("sigma", sigma, ">", 0), Hypothesis("s", s, ">", 0), Hypothesis("s", s, "<", 1)]


@replay("fedloru-v2/eq-28")
def eq_28_as_printed(values: Values) -> Violation:
    r"""$U_N \le \liminf\lambda_i \le \limsup\lambda_i \le L_N$ for the same i."""
    sigma, s = fractions(values, "sigma", "s")
    return Violation(
        2 * sigma * s,
        -2 * sigma * s,
        assumes=noise(sigma, s),
        reads="U = 2 sigma s against L, which eq. (28) puts above it",
    )


@replay("fedloru-v1/eq-20-22")
def eq_20_22(values: Values) -> Violation:
    """Diagonal matrices: the eigenvalues are the sorted entries."""
    true, errors = [int(v) for v in values["H_true"]], [int(v) for v in values["epsilon"]]
    j, k, R = int(values["j"]), int(values["k"]), len(true)
    both = [a + b for a, b in zip(true, errors, strict=True)]
    p, q = sum(v > 0 for v in true), sum(v < 0 for v in true)
    i = j + k - R
    assumes = (
        Hypothesis("j", j, ">=", 1),
        Hypothesis("j", j, "<=", R),
        Hypothesis("k", k, ">=", 1),
        Hypothesis("k", k, "<=", R),
        Hypothesis("i = j + k - R, against the number p of positive eigenvalues", i, ">", p),
        Hypothesis("i, against R - q, q the number of negative ones", i, "<", R - q),
    )
    left = sorted(both, reverse=True)[(i - 1) % R]
    right = sorted(true, reverse=True)[(i - j - 1) % R] + sorted(errors, reverse=True)[(i - k - 1) % R]
    return Violation(left, right, assumes=assumes, reads="second line, lambda_i(H_N) against the printed upper bound")
