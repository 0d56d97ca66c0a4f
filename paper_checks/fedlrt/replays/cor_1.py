"""Corollary 1, which is Corollary 2 of Appendix G.2: convergence with simplified correction.

Setting: `shared.descent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

import sympy

from paper_checks.fedlrt.replays.shared.descent import SQUARE_OF_ROOT, descent_for_all_steps
from paper_checks.fedlrt.replays.shared.opposite_clients import LOSSES, follow_opposite
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


def _require_kappa_below(bound: Fraction) -> None:
    """Require that (1 + sqrt(2))/2, the largest kappa, is below a bound."""
    require(2 * bound > 1 and (2 * bound - 1) ** 2 > 2, "kappa can be larger")


@proof("fedlrt/cor-1")
def cor_1(
    largest: Fraction = Fraction(3, 2),
    limit: Fraction = Fraction(1, 2),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    kappa: str = "1.2072",
    constants: Mapping[str, Fraction] = MappingProxyType(
        {"1/12": Fraction("13.35"), "1/24": Fraction("25.28"), "1/94": Fraction(96), "1/2": Fraction(96)}
    ),
) -> str:
    r"""The corrected Theorem 4, summed over the rounds, and a bound on its constant.

    Each round has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le \mathcal{L}(W_r^t) -
    \mathcal{L}(W_r^{t+1})$ plus the cost of its truncation. The sum over T rounds telescopes, and the least squared
    gradient is at most their mean. The constant $\frac1{x(1 - \kappa x)}$ grows with $\kappa < \frac12(1 + \sqrt2) <
    1.2072$, so its values at a few x are known. As $x(1 - \kappa x)$ is concave in x, a constant that is valid at two
    places is also valid between them.
    """
    bound = Fraction(kappa)
    _require_kappa_below(bound)
    require(len(constants) > 0, "no constants")
    for place, constant in constants.items():
        at = Fraction(place)
        require(0 < at <= Fraction(1, 2) and constant * at * (1 - bound * at) >= 1, f"the constant at {place}")
    descent_for_all_steps(largest, limit, steps, SQUARE_OF_ROOT)
    shown = ", ".join(f"{float(constant):g} at {place}" for place, constant in constants.items())
    return rf"we average the corrected Theorem 4 over the rounds and obtain the constants {shown} of $s_*\lambda L$"


@replay("fedlrt/cor-1")
def cor_1_as_printed(values: Values) -> Violation:
    """Evaluate T = 1, L = 1."""
    at, small = follow_opposite(values), Fraction(1, 1000)
    rate = Hypothesis("s lambda (12 L + delta^2)", at.whole * (12 + at.delta**2), "<=", 1)
    slow = Hypothesis(
        "squared gradient, one client with the loss <slope, w> at s lambda = 1/1000, against 96 L times its descent",
        at.square,
        ">",
        96 * small * at.square,
    )
    return Violation(
        at.square,
        96 * -at.change + 96 * at.theta,
        assumes=(*at.assumes, rate, slow),
        given=at.given,
        reads=f"{LOSSES}, no singular value is truncated in the round. (At a small rate and for a small threshold, "
        "one client whose loss falls violates the bound as well.) We compare the squared gradient at the start with "
        "the printed bound",
    )


@proof("fedlrt/cor-2-proof")
def cor_2_proof(kappa: str = "1.2072", constant: Fraction = Fraction(96), share: Fraction = Fraction(82)) -> str:
    r"""The corrected Theorem 4 at the printed rate; and both printed brackets there.

    With $x = s_*\lambda L = L/(12L + \delta^2)$ it has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le
    \mathcal{L}(W_r^t) - \mathcal{L}(W_r^{t+1})$ plus the cost of truncation, $\kappa \le \frac12(1 + \sqrt2) < 1.2072$
    for all $\delta \le 1$. Where $L \ge \delta^2/82$, x lies between $\frac1{94}$ and $\frac1{12}$. At both ends $96x(1
    - \kappa x) \ge 1$, and so between them, as the left side is concave in x. At $s_*\lambda = 1/(12L + \delta^2)$ the
    bracket of (38) is $\delta^2/(12L + \delta^2)$ and the bracket of Theorem 4 is $\delta^2(2 - 12L - \delta^2)/(12L +
    \delta^2)$, identities.
    """
    L, delta = sympy.symbols("L delta", positive=True)
    rate = 1 / (12 * L + delta**2)
    of_38 = 1 - 12 * rate * L - delta**2 * rate
    of_theorem_4 = 1 - delta**2 - 12 * rate * L + delta**2 * rate - delta**2 * (2 - 12 * L - delta**2) * rate
    require(sympy.simplify(of_38) == 0 and sympy.simplify(of_theorem_4) == 0, "the printed brackets")
    bound = Fraction(kappa)
    _require_kappa_below(bound)
    require(share > 0, "the constant")
    for end in (1 / (12 + share), Fraction(1, 12)):
        require(constant * end * (1 - bound * end) >= 1, "the constant")
    return (
        "we derive the constant for every learning rate and every kappa of the corrected Theorem 4, and the printed "
        "brackets as identities"
    )


@replay("fedlrt/cor-2-proof")
def cor_2_proof_as_printed(values: Values) -> Violation:
    """Compare 1 / (96 L) with the rate times the bracket of Theorem 4."""
    L, delta = fractions(values, "L", "delta")
    assumes = assuming(
        Hypothesis("L", L, ">", 0),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
    )
    whole = 1 / (12 * L + delta**2)
    bracket = 1 - 12 * whole * L - delta**2 * (1 - whole)
    return Violation(
        1 / (96 * L),
        whole * bracket,
        assumes=assumes,
        reads="we compare 1/(96 L), the value that the proof needs, with the learning rate times the bracket of "
        "Theorem 4",
    )
