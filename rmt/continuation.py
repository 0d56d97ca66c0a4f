"""Follow the solution of an analytic equation from high above the real axis down to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Map = Callable[[np.ndarray, np.ndarray], np.ndarray]

FACTOR = 0.25
LOWEST, FAST = 1e-18, 1e-2
"""Last height above the axis, in units of the scale, before the step onto it; the factor below that height."""
NEAR, LEAST = 1e-4, 1e-120
"""That height close to 0, in units of the distance from 0, and the least of all."""
NARROW = (1e-4, 1e-8, 1e-12)
"""Widths of narrow bands, in widths of the law, to which equations are solved where the usual steps stop too early."""
NEWTON_STEPS = 40
MAP_STEPS = 400


def descend(
    z: np.ndarray,
    newton_step: Map,
    fixed_point: Map,
    scale: float,
    guess: np.ndarray | None = None,
    finest: float | None = None,
    lowest: np.ndarray | None = None,
) -> np.ndarray:
    r"""Solve u = T(u, z) for the branch with u ~ z far away, for every z with Im z >= 0.

    The maps of free probability send the upper half-plane into itself, and Im u >= Im z along the branch; Newton's
    method is started from the solution a little higher and kept in that half-plane. Where it stalls, the averaged
    iteration of T, which converges from everywhere (Belinschi and Bercovici 2007), takes over before Newton polishes.

    Args:
        z: complex points, (n,), Im z >= 0; on the axis the limit from above is returned.
        newton_step: (u, z) -> the Newton correction, to be subtracted from u.
        fixed_point: (u, z) -> T(u, z).
        scale: width of the law, in units of z.
        guess: u at a point nearby, (n,). It saves the way down where Newton's method leads from it to a solution well
            above the axis: of those there is one only.
        finest: width of the narrowest structure of u, in units of z, to which Newton's method must get; the scale by
            default.
        lowest: last height above the axis before the step onto it, (n,), in units of the scale; `LOWEST` by default.

    Returns:
        u, (n,), accurate to about 1e-13 relative, except near branch points, where rounding is felt as its root.
    """
    finest = finest or scale
    last_heights = scale * (np.full(len(z), LOWEST) if lowest is None else lowest)
    height = np.maximum(4 * scale, z.imag)
    solved = height.copy()
    u = z.real + 1j * height
    may_jump = np.ones(len(z), dtype=bool)
    active = np.arange(len(z))
    if guess is not None:
        found, converged = _polish(guess, z, newton_step, finest, np.full(len(z), 1e-15))
        kept = converged & (found.imag > z.imag + 1e-6 * scale)
        u[kept] = found[kept]
        active = active[~kept]
    while len(active):
        point = z.real[active] + 1j * height[active]
        # On the way down a start for the next height is all that is needed.
        accuracy = np.where(height[active] > z.imag[active], 1e-6, 1e-15)
        proposal, converged = _polish(u[active], point, newton_step, finest, accuracy)
        jumped = height[active] < _factor(solved[active], scale) / 2 * solved[active]
        stuck = ~converged & ~jumped & (height[active] > 0)
        if stuck.any():
            better = u[active[stuck]]
            for _ in range(MAP_STEPS):
                better = (better + fixed_point(better, point[stuck])) / 2
            proposal[stuck], converged[stuck] = _polish(better, point[stuck], newton_step, finest, accuracy[stuck])
            proposal[stuck] = np.where(converged[stuck], proposal[stuck], better)
        doubtful = np.flatnonzero(converged & jumped)
        if len(doubtful):
            converged[doubtful] = _attracting(proposal[doubtful], point[doubtful], newton_step, fixed_point)
        # Far from the axis the averaged value serves as a start; near it, where the equation may degenerate, the last
        # solution above stays.
        keep = converged | (~jumped & (height[active] > 1e-3 * scale))
        u[active[keep]], solved[active[keep]] = proposal[keep], height[active[keep]]
        may_jump[active[jumped & ~keep]] = False
        # A failed jump from the lowest height is not tried again.
        more = keep | (jumped & (solved[active] >= last_heights[active]))
        active = active[more & (solved[active] > z.imag[active])]
        reached = solved[active]
        onto = (reached < last_heights[active]) | (may_jump[active] & (reached < 1e-3 * u[active].imag))
        lower = np.maximum(_factor(reached, scale) * reached, z.imag[active])
        height[active] = np.where(onto, z.imag[active], lower)
    return u


def lowest_heights(z: np.ndarray, scale: float) -> np.ndarray:
    """Return the last heights above points of the axis, (n,), in units of the scale, of a law with bands next to 0.

    There the solution changes on the scale of z itself.
    """
    near = np.where(z.imag == 0.0, np.abs(z) / scale, 1.0)
    return np.clip(NEAR * near, LEAST, LOWEST)


def _factor(height: np.ndarray, scale: float) -> np.ndarray:
    """Return the factor from one height to the next."""
    return np.where(height < LOWEST * scale, FAST, FACTOR)


def _attracting(u: np.ndarray, z: np.ndarray, newton_step: Map, fixed_point: Map) -> np.ndarray:
    """Return whether solutions can be the limit from above: on the axis it attracts, and others that are real repel.

    Newton's correction of a point next to the solution, times 1 - T', is the distance of the point from its image.
    """
    beside = u + 1e-6j * np.abs(u - z)
    with np.errstate(all="ignore"):
        slope = (beside - fixed_point(beside, z)) / newton_step(beside, z)
    return (u.imag > z.imag + 1e-9 * np.abs(u - z)) | (slope.real > 0.0) | (u == z)


def _polish(
    u: np.ndarray, z: np.ndarray, newton_step: Map, finest: float, accuracy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    u, converged = u.copy(), np.zeros(len(u), dtype=bool)
    last = np.full(len(u), np.inf)
    active = np.arange(len(u))
    for _ in range(NEWTON_STEPS):
        with np.errstate(all="ignore"):  # a transient may land on a pole; it is then reported as not converged
            step = newton_step(u[active], z[active])
        step = np.where(np.isfinite(step), step, finest)
        new = u[active] - step
        u[active] = new.real + 1j * np.maximum(new.imag, z[active].imag)
        size = np.abs(step)
        # Close to a branch point rounding stops the digits early: steps that no longer shrink have converged too.
        done = (size < accuracy[active] * np.abs(u[active])) | ((size < 1e-7 * finest) & (size >= last[active]))
        converged[active] = done
        last[active] = size
        active = active[~done]
        if len(active) == 0:
            break
    return u, converged
