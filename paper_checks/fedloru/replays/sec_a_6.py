"""Appendix A.6: several local steps."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import proof, require

Plane = tuple[Fraction, Fraction]


def _dot(a: Plane, b: Plane) -> Fraction:
    return a[0] * b[0] + a[1] * b[1]


@proof("fedloru-v2/A.6-limitation")
def a_6_limitation(
    curvatures: Plane = (Fraction(4), Fraction(1)),
    turned: Plane = (Fraction(4, 5), Fraction(3, 5)),
    first: Plane = (Fraction(2), Fraction(3)),
    second: Plane = (Fraction(-3), Fraction(1)),
    rate: Fraction = Fraction(1, 8),
    after: tuple[int, int] = (1, 10),
) -> str:
    r"""Two clients for which the order of $C_1$ and $C_2$ after ten steps is not that after one.

    Quadratic losses in the plane with the curvatures 4 and 1: of the one client along the axes, with the minimiser (2,
    3), of the other along $(\frac45, \frac35)$ and $(-\frac35, \frac45)$, with the minimiser (-3, 1). Gradient descent
    starts at 0, with the step 1/8, in the span of the first r eigenvectors; $C_r$ is the cosine between the clients'
    updates. For r = 1 these lie along the first eigenvectors and point to either side, so $C_1 = -\frac45$ after
    any number of steps. $C_2$ is -0.998 after one step, which is less, and -0.532 after ten, which is more.
    """
    frames = (((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))), (turned, (-turned[1], turned[0])))

    def squared_cosine(rank: int, steps: int) -> Fraction:
        """Return the square of the cosine, with its sign."""
        updates = []
        for frame, minimiser in zip(frames, (first, second), strict=True):
            moved = [
                (1 - (1 - rate * curvature) ** steps) * _dot(vector, minimiser)
                for curvature, vector in zip(curvatures, frame, strict=True)
            ][:rank]
            x, y = (sum((m * vector[i] for m, vector in zip(moved, frame, strict=False)), Fraction(0)) for i in (0, 1))
            updates.append((x, y))
        product = _dot(*updates)
        return product * abs(product) / (_dot(updates[0], updates[0]) * _dot(updates[1], updates[1]))

    one, last = after
    require(_dot(turned, turned) == 1, "a frame of unit vectors")
    require(one == 1 and last > 1, "one step, and several")
    require(0 < rate * max(curvatures) <= 1, "a learning rate that converges")
    require(squared_cosine(1, one) > squared_cosine(2, one), "after one step rank 1 agrees better")
    require(squared_cosine(1, last) < squared_cosine(2, last), "at the end rank 2 agrees better")
    return (
        "two quadratic clients in the plane, the first along the axes, run gradient descent from 0 in fractions; the "
        "cosine of their updates is larger with rank 1 after one step, and with rank 2 at the end"
    )
