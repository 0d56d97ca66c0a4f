"""Replays of the claims in ``alignment_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.alignment import dense_clients, mean_and_error, printed_quotient, unmet
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-51-54")
def eq_51_54(values: Values) -> Violation:
    """The denominator of (51), or the cosine, for dense clients against the printed limit."""
    rank, norms = int(values["rank"]), values["what"] == "norms"
    drawn = dense_clients(values, rank, 200, 54)[:, 1 if norms else 0, rank - 1]
    printed = printed_quotient(values, rank)
    if norms:
        noise = float(values["noise"])
        squares = [(1.0 - (noise / s) ** 2) * g**2 for s, g in zip(values["spikes"], values["gradient"], strict=True)]
        order = sorted(range(len(squares)), key=lambda i: -abs(values["spikes"][i]))
        printed = sum(squares[i] for i in order[:rank])
    mean, error = mean_and_error(drawn, 0.05 * max(1.0, printed))
    reads = f"|{values['what']} - printed limit|, r = {rank}, measured {mean:.3g} against {printed:.3g}"
    return Violation(abs(mean - printed), 0.0, error, exact=False, unmet=unmet(values), reads=reads)


@replay("fedloru-v2/eq-55")
def eq_55(values: Values) -> Violation:
    """g(1) from its definition as a difference of two quotients."""
    theta, ratio, *alphas = fractions(values, "theta", "ratio_1", "alpha_1", "alpha_2")
    first, second = 1 - 1 / theta**2, 1 - 1 / (theta * ratio) ** 2
    a, b = (alpha**2 for alpha in alphas)
    g = first - (a * first + b * second) / (a + b)
    met = theta >= 1 and 0 < abs(ratio) <= 1 and abs(theta * ratio) >= 1 and a * b != 0
    asked = "" if met else "|theta_1| >= |theta_2| >= sigma s_N, alpha non-zero"
    return Violation(Fraction(0), g, strict=True, unmet=asked, reads="0 against g(1), which should be greater")


@replay("fedloru-v2/eq-56")
def eq_56(values: Values) -> Violation:
    """Both readings of client 2's vector, coordinate by coordinate."""
    u, w, ut, wt = (fractions(values, f"{name}_1", f"{name}_2") for name in ("u", "w", "ut", "wt"))
    a, b, at, bt = fractions(values, "a", "b", "at", "bt")
    first = [a * x + b * y for x, y in zip(u, w, strict=True)]
    vector = [at * x + bt * y for x, y in zip(ut, wt, strict=True)]
    printed = [at * x + bt for x in ut]
    apart = sum((f * (s - t) for f, s, t in zip(first, vector, printed, strict=True)), Fraction(0))
    return Violation(abs(apart), Fraction(0), reads="|inner product - printed one|")


@replay("fedloru-v2/eq-57-58")
def eq_57_58(values: Values) -> Violation:
    """The cosine past the outliers for dense clients, against the printed limit with beta = 0."""
    rank = int(values["rank"])
    mean, error = mean_and_error(dense_clients(values, rank, 200, 57)[:, 0, rank - 1], 0.05)
    printed = printed_quotient(values, rank)
    reads = f"|E C_r - printed limit|, r = {rank}, measured {mean:.3g} against {printed:.3g}"
    return Violation(abs(mean - printed), 0.0, error, exact=False, unmet=unmet(values), reads=reads)
