"""Appendix A.3, proof of Lemma A.9: the minimiser in closed form (eqs. (14) to (21))."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay
from paper_checks.rolora.replays.shared.nets_and_norms import nearest_point_of_a_net
from paper_checks.rolora.replays.shared.second_iteration import second_iteration
from paper_checks.rolora.replays.shared.tails import tail_of_length
from paper_checks.stored_values import Values, fractions


@proof("rolora/eq-18@a-independent-of-the-samples")
def eq_18(c1: Fraction = Fraction(16, 9)) -> str:
    r"""Chernoff's bound.

    $\log P(\chi^2_m \le (1-\epsilon)m) \le \frac m2(\epsilon + \log(1-\epsilon)) \le -\frac m4\epsilon^2$, as $\log(1 -
    \epsilon) \le -\epsilon - \frac12\epsilon^2$ by its series; $c_1/K^4 = \frac14$ with $K^2 = \frac83$. No larger
    $c_1$ works: by Cramer's theorem the first bound is the rate, and over $\epsilon^2$ it tends to the second.
    """
    tail_of_length(c1)
    return "Chernoff's bound for a chi-square variable gives the probability"


@replay("rolora/eq-18")
def eq_18_as_printed(values: Values) -> Violation:
    """Compare the squared length of X a in the second iteration with that of a standard normal vector.

    The latter is of chi-square law, of mean n and variance 2 n: above ``times`` n with a probability of at most 2 n
    over the square of the distance (Chebyshev).
    """
    found, [times] = second_iteration(values), fractions(values, "times")
    n = int(values["n"])
    assumes = (
        *found.assumes,
        *assuming(Hypothesis("times the mean, of a standard normal vector", times, ">", 1)),
        Hypothesis("least square of the length, over that", found.square.low / (found.stretched.high * times), ">", 1),
    )
    return Violation(
        1 - found.missed,
        2 / (n * (times - 1) ** 2),
        assumes=assumes,
        reads="one client has n samples with d dimensions in addition to the plane of a and a*, and its second "
        "iteration uses the samples of the first. We compare a lower bound on the probability that |X a|^2 > times n "
        "with an upper bound on the same probability for a standard normal vector instead of X a",
    )


@proof("rolora/eq-19")
def eq_19(share: Fraction = Fraction(1)) -> str:
    r"""Lemma A.7 for the row vector, and $v^\top w \le |v^\top w|$.

    For the unit vector along v and the point of the net within $\epsilon_0 < 1$ of it, $v^\top w \ge \|v\|(1 -
    \frac12\epsilon_0^2) \ge \|v\|(1 - k\epsilon_0)$ for $k \ge \frac12$; k = 1 is printed.
    """
    nearest_point_of_a_net(share)
    return "we compare a unit vector with the nearest point of the net"
