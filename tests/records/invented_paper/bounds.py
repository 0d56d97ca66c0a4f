"""Bounds of squares, judged for the claims of an invented paper."""

from paper_checks.claim import Form, Reading, claim
from paper_checks.methods.domain import Described
from paper_checks.methods.inequality import judge_inequality

NUMBERS = [0.0, 0.25, 0.5, 1.0]


def bound(numbers, K=1.0, power=1):
    """Judge x^2 <= K x^power.

    Args:
        numbers: what is measured.
        K: the printed factor,
            in units of x.
        power: its exponent.
    """
    return judge_inequality(
        *([x**2 for x in numbers], [K * x**power for x in numbers], 0.0),
        scope=f"{len(numbers)} numbers in [0, 1]",
        case={"x": numbers},
        printed=f"x^2 <= {K:g} x",
        quotient=True,
        domain=Described("nothing is missed", len(numbers)),
    )


def half(numbers, K=0.5, power=1):
    """Judge the bound with a half."""
    return bound(numbers, K, power)


def declared(label, judged, paper="invented", **fields):
    """Return a claim; a field that is not given is as for a bound that holds."""
    given = {
        "where": "Section 2, Theorem 3; Appendix A",
        "says": r"$x^2 \le K x$ on $[0, 1]$",
        "measure": lambda context: NUMBERS,
        "mutants": [{"K": 0.9}, {"K": 0.25, "power": 2}],
        "expect": ("holds", "search"),
    }
    return claim(f"{paper}/{label}", **(given | fields))(judged)


FIX = Form("$x^2 \\le x$, cf. eq. 5. More.", {"K": 1.0}, ({"K": 0.95},))
CONTROL = Form("$x^2 \\le 2x$.", {"K": 2.0})
SECOND = Reading("twice, as in eq. 2", r"$x^2 \le 2x$", {"K": 2.0}, "eq. 2 writes 2", ({"K": 0.8},))
HALF = Reading("half of it", r"$x^2 \le x/2$", {"K": 0.5}, "Section 4 has a half")
