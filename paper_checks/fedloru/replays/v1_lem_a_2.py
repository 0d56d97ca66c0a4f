"""Lemma A.2 of v1 and iclr: free convolution.

Setting: `shared.limits`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


def _moment_with_profile(rho: Fraction, power: int) -> Fraction:
    """Return the limit of the normalised trace of a power of X + D, over the rows with x = 1 and x = -1."""
    rows = [(Fraction(1), Fraction(1))]
    for n in range(1, power + 1):
        averages = [((a + b) / 2, rho * (a - b) / 2) for a, b in rows]  # of m(y), and rho times the mean of y m(y)
        after = [
            sum(((averages[k][0] + x * averages[k][1]) * rows[n - 2 - k][side] for k in range(n - 1)), Fraction(0))
            for side, x in enumerate((1, -1))
        ]
        rows.append((rows[-1][0] + after[0], -rows[-1][1] + after[1]))
    return sum(rows[-1], Fraction(0)) / 2


@replay("fedloru-v1/lem-A.2")
def v1_lem_A_2_as_printed(values: Values) -> Violation:
    r"""D = diag(x), half of the x are 1 and half -1; Gaussian X with entries of variance $(1 + \rho x_ax_b)/N$.

    D is deterministic. X is a generalised Wigner matrix, since the variances of a row add up to 1 and lie between fixed
    multiples of 1/N: its eigenvectors have QUE (Bourgade and Yau), and its limit is the semicircle for every $\rho$.

    The distance of spectral measures concentrates: $W_1(\hat\mu_X, \hat\mu_Y) \le N^{-1/2}\|X - Y\|_F$ (Hoffman and
    Wielandt), each entry off the diagonal counts twice in the norm, and entries have standard deviations of at most
    $\sqrt{(1 + |\rho|)/N}$, so $W_1(\hat\mu_X, \mu_X)$ has the Lipschitz constant $\sqrt{2(1 + |\rho|)}/N$ in
    standard Gaussian numbers and exceeds its mean by t with a probability of at most $e^{-t^2N^2/(4(1 + |\rho|))}$.
    The mean tends to 0: where it is below $\delta/2$, which is the case for large N, $P(W_1 > \delta) \le
    e^{-N^2\delta^2/(16(1 + |\rho|))}$, so $\tau = 2$.

    Integration by parts in the first factor gives the limits of the rows, $m_n(x) = x\,m_{n-1}(x) +
    \sum_k\eta(m_k)(x)\,m_{n-2-k}(x)$ for $m_n(x_a) = \lim E[((X + D)^n)_{aa}]$ and $\eta(m)(x) = E_y[(1 + \rho
    xy)m(y)]$; with $\rho = 0$ X is invariant under rotations, and the moments are the moments of the free convolution.
    """
    (rho,) = fractions(values, "rho")
    power = int(values["power"])
    assumes = assuming(
        Hypothesis("rho, for variances between fixed multiples of 1/N", abs(rho), "<", 1),
        Hypothesis("power", power, ">", 0),
        Hypothesis("power", power, "<=", 12),
    )
    actual, free = (_moment_with_profile(strength, power) for strength in (rho, Fraction(0)))
    return Violation(
        abs(actual - free),
        0,
        assumes=assumes,
        reads="D = diag(x), where half of the x are 1 and half are -1. X is a generalised Wigner matrix: its entries "
        "are independent and Gaussian with variance (1 + rho x_i x_j)/R. (It satisfies quantum unique ergodicity by "
        "Bourgade and Yau, and its limit is the semicircle. As a function of Gaussian numbers W_1 has the Lipschitz "
        "constant sqrt(2(1 + |rho|))/R, and its mean tends to 0, so P(W_1 > delta) <= exp(-R^2 delta^2/(16(1 + "
        f"|rho|))) for large R.) We compute the distance between moment {power} of X + D and moment {power} of the "
        "free convolution",
    )


def invariance() -> None:
    r"""$E[\hat g\,XG] = E[\hat x\,G] + \frac1RE[GXG - XG^2]$ with $\hat x = \frac1R\mathrm{tr}(XG)$, if X is invariant.

    Rotating X by $e^{tL}$, L antisymmetric, leaves $E[G]$ as it is, so $E[G(LX - XL)G] = 0$. For $L = e_ae_b^T -
    e_be_a^T$ this is summed over a, at the row a: a sum of four products, since G and X are symmetric.
    """
    size, b, column = 3, 0, 1
    G, X = (
        sympy.Matrix(size, size, lambda i, j, name=name: sympy.Symbol(f"{name}{min(i, j)}{max(i, j)}")) for name in "gx"
    )
    summed = sympy.Integer(0)
    for a in range(size):
        turn = sympy.zeros(size)
        turn[a, b] += 1
        turn[b, a] -= 1
        summed += (G * (turn * X - X * turn) * G)[a, column]
    told = G.trace() * X * G - (X * G).trace() * G - (G * X * G - X * G * G)
    require(sympy.expand(summed - told[b, column]) == 0, "the sum of the four products")


@proof("fedloru-v1/lem-A.2")
def v1_lem_A_2(weight: Fraction = Fraction(1)) -> str:
    r"""Rotations of X give both subordination functions, and these the sum of the R-transforms.

    $G = (z - X - D)^{-1}$, $\hat g = \frac1R\mathrm{tr}\,G$, $v = \mathrm{Im}\,z$, given the eigenvalues of X and given
    D. Eigenvalues beyond K are set to 0 first: for large K that changes the rank by little, so the distribution
    functions by little (interlacing), and free convolution is continuous. Then $\|GXG - XG^2\| \le 2K/v^2$, and
    $\hat g$ and $\hat x$, Lipschitz functions of a random rotation, have variances of order $R^{-2}$ (Gromov and
    Milman). So $g\,E[XG] = x\,E[G] + o(1)$ in the operator norm, $g = E\hat g$, $x = E\hat x$. By $(z - D)G = I + XG$,
    $(z - x/g - D)E[G] = I + o(1)$ where v is large, since $zg \to 1$ and x/g stays bounded as v grows: $g = g_D(w_D) +
    o(1)$ with $w_D = z - x/g$. Seen from the eigenvectors of X it is D that is rotated, so $g = g_X(w_X) + o(1)$ with
    $w_X = z - d/g$, $d = E\frac1R\mathrm{tr}(DG)$. $x + d = zg - 1$, so $w_D + w_X = z + 1/g$, and with $w =
    R(g) + 1/g$ the R-transforms add up, for all large v and by analytic continuation for all z.

    If the rank of D stays bounded, the distribution functions of $X + D$ and X differ by at most that rank over R.
    """
    z, g, x, R_X, R_D = sympy.symbols("z g x R_X R_D")
    d = z * g - 1 - x
    both = (z - x / g) + (z - d / g)
    from_both = sympy.solve(both.subs(x, 0) - (R_D + 1 / g + R_X + 1 / g), z)[0]
    stated = R_X + weight * R_D + 1 / g
    invariance()
    require(sympy.simplify(both - (z + 1 / g)) == 0, "the sum of both subordination functions")
    require(sympy.simplify(from_both - stated) == 0, "the R-transforms add up")
    return "we rotate one summand by four products and add the two subordination functions"
