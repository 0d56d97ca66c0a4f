"""Replays of the claims in ``alignment_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclosed
from paper_checks.fedloru.replays.alignment import TWO_CLIENTS, printed_quotient, slopes_and_overlaps, two_clients
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


def rank_of(values: Values) -> int:
    """The r of the statement."""
    return int(values["rank"])


def outliers(values: Values) -> int:
    """How many spikes there are, all of them outliers."""
    return len(values["spikes"])


def cosine_and_limit(values: Values, rank_allowed: Hypothesis) -> Violation:
    r"""A lower bound of the printed limit of the mean cosine minus the limit itself.

    The limit is $A^2$ times the printed one, A the mean cosine between $m + \sqrt b z$ and m, the slopes along the
    outliers. In one dimension A is largest, $P(|z| \le |m|/\sqrt b)$, and
    $1 - P(|z| \le x)^2 \ge e^{-2x^2/\pi} \ge e^{-2x^2/3}$:
    a square holds less of a Gaussian law of the plane than the disc of equal area.
    """
    rank, errors = rank_of(values), Fraction(values["noise_square"])
    assumes = assuming(*two_clients(values), rank_allowed, Hypothesis("variance of the own errors", errors, ">", 0))
    every, squares = (slopes_and_overlaps(values, r)[0] for r in (outliers(values), rank))
    lost = enclosed("exp", -2 * sum(squares) / (3 * errors))[0]
    return Violation(
        lost * printed_quotient(values, rank),
        0,
        assumes=assumes,
        given={"alpha_i^2": every},
        reads=f"printed limit less lim E C_r, r = {rank}, from below",
    )


@replay("fedloru-v2/eq-51-54", **TWO_CLIENTS)
def eq_51_54_as_printed(values: Values) -> Violation:
    """The cosine up to the last outlier against the printed limit."""
    return cosine_and_limit(values, Hypothesis("r, against the outliers", rank_of(values), "<=", outliers(values)))


@replay("fedloru-v2/eq-52-53", theta="theta_1", noise="sigma s_N")
def eq_52_53_as_printed(values: Values) -> Violation:
    r"""One spike, Gaussian noise, and at both clients the gradient $Re$, e a unit vector orthogonal to $v_1$.

    $u = sv_1 + w$ with $w \perp v_1$ in a direction that no rotation about $v_1$ prefers: $E\langle e, u\rangle = 0$,
    so that $\alpha_1 = 0$, as are the mean slopes along eigenvectors of the bulk, and $E[\langle e, u\rangle u] =
    \frac{1 - Es^2}{R - 1}e$. Clients are independent: $E[\langle e, u\rangle\langle e, u'\rangle\langle u, u'\rangle]$
    is the squared norm of that. Times $R^2$ it tends to $(1 - \phi_1^2)^2 = (\sigma s_N/\theta_1)^4$, by (5).
    """
    theta, noise = fractions(values, "theta", "noise")
    return Violation(
        (noise / theta) ** 4,
        0,
        assumes=assuming(
            Hypothesis("scale of the noise, sigma s_N", noise, ">", 0),
            Hypothesis("theta_1, against sigma s_N", theta, ">", noise),
        ),
        reads="r = 1, one spike, both gradients R e with a unit vector e orthogonal to v_1: limit of the left side of "
        "(53), (1 - phi_1^2)^2, and 0",
    )


@replay("fedloru-v2/eq-55", theta="theta_3", ratio_1="theta_2/theta_1", ratio_2="theta_3/theta_2")
def eq_55_as_printed(values: Values) -> Violation:
    """g(1) from its definition as a difference of two quotients."""
    third, ratio, next_ratio, *alphas = fractions(values, "theta", "ratio_1", "ratio_2", "alpha_1", "alpha_2")
    theta_2 = third / next_ratio
    theta_1 = theta_2 / ratio
    first, second = 1 - 1 / theta_1**2, 1 - 1 / theta_2**2
    a, b = (alpha**2 for alpha in alphas)
    g = first - (a * first + b * second) / (a + b)
    assumes = (
        Hypothesis("|theta_1|, against |theta_2|", abs(theta_1), ">=", abs(theta_2)),
        Hypothesis("|theta_1 - theta_2|: distinct", abs(theta_1 - theta_2), ">", 0),
        Hypothesis("|theta_2|, against sigma s_N = 1", abs(theta_2), ">=", 1),
        Hypothesis("alpha_1^2", a, ">", 0),
        Hypothesis("alpha_2^2", b, ">", 0),
    )
    return Violation(
        0,
        g,
        strict=True,
        assumes=assumes,
        given={"theta_1, theta_2": [theta_1, theta_2]},
        reads="sigma s_N = 1: 0 against g(1), which should be greater",
    )


@replay("fedloru-v2/eq-56")
def eq_56(values: Values) -> Violation:
    """Both readings of client 2's vector, coordinate by coordinate."""
    u, w, ut, wt = (fractions(values, f"{name}_1", f"{name}_2") for name in ("u", "w", "ut", "wt"))
    a, b, at, bt = fractions(values, "a", "b", "at", "bt")
    first = [a * x + b * y for x, y in zip(u, w, strict=True)]
    vector = [at * x + bt * y for x, y in zip(ut, wt, strict=True)]
    printed = [at * x + bt for x in ut]
    given = {"client 2": vector, "printed": printed}
    apart = sum((f * (s - t) for f, s, t in zip(first, vector, printed, strict=True)), Fraction(0))
    vectors = {"u": u, "w": w, "u of client 2": ut, "w of client 2": wt}
    assumes = [Hypothesis(f"|{name}|^2", sum(x * x for x in vector), "=", 1) for name, vector in vectors.items()]
    return Violation(abs(apart), 0, assumes=assumes, given=given, reads="|inner product - printed one|")


@replay("fedloru-v2/eq-57-58", **TWO_CLIENTS)
def eq_57_58_as_printed(values: Values) -> Violation:
    """The cosine from the last outlier on against the printed limit with beta = 0."""
    return cosine_and_limit(values, Hypothesis("r, against the outliers", rank_of(values), ">=", outliers(values)))


@replay("fedloru-v2/assump-A.5@with-what-is-drawn-from-it", **TWO_CLIENTS)
def assump_A_5_as_read(values: Values) -> Violation:
    """The cosine at the last outlier, where the printed limit is the same for every beta."""
    return cosine_and_limit(values, Hypothesis("r, against the outliers", rank_of(values), "=", outliers(values)))
