"""The number of products that each route to a stable rank takes until its RMS error is 1 %.

``python benchmarks/stable_rank_products.py [--out FILE]``. Matrices of known spectra; eigenvectors have no axis of
their own, but where a spectrum is called diagonal: there they are near the axes, as of networks on white inputs.
Settings of every route are the cheapest of a grid with the truth at hand, which favours the routes without an interval.
The routes: ours (the public call, by its width); Lanczos steps and probes deflated by them; the same with blocks of
vectors, as products of several vectors at once could be used; Lanczos steps for the norm alone with plain probes, on
the sphere or of signs; a sketch of the range with probes of the rest (Hutch++ in one product); and XTrace of the
square. Errors of probes follow from their distribution; all others are measured over the seeds. The file also has the
number of Lanczos steps after which the norm is certain to that error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator
from math import ceil, inf, sqrt
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import torch
from numpy.typing import NDArray

from figures.provenance import machine, package_versions
from hessian import DenseOperator, Krylov, stable_rank_of
from hessian.lanczos.bounds import certified_norm, known_square, probable_norm

Array = NDArray[np.float64]
P, GOAL, CHANCE = 300, 0.01, 0.05
STEPS = (4, 6, 9, 12, 16, 20, 26, 34, 44, 60, 90, 130)
SKETCHES = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
BLOCKS = (2, 4, 8)
WIDTHS = (0.03, 0.04, 0.055, 0.075, 0.1, 0.14)


def spectra() -> dict[str, tuple[Array, bool]]:
    """Return eigenvalues, and whether the eigenvectors are near the axes."""
    normal = np.random.default_rng(0).standard_normal(P)
    wigner = np.linalg.eigvalsh((lambda G: (G + G.T) / sqrt(2 * P))(np.random.default_rng(1).standard_normal((P, P))))
    ranks = np.arange(1, P + 1)
    return {
        "five outliers": (np.r_[50.0, 30.0, 20.0, 8.0, -5.0, 0.2 * normal[5:]], False),
        "ten outliers, wide bulk": (np.r_[np.linspace(10.0, 3.0, 10), 0.3 * normal[10:]], False),
        "power law 1": (ranks**-1.0, False),
        "power law 1/2": (ranks**-0.5, False),
        "semicircle": (wigner, False),
        "semicircle, diagonal": (wigner, True),
        "power law 1/2, diagonal": (ranks**-0.5, True),
    }


def matrix_of(values: Array, diagonal: bool) -> Array:
    """Return a matrix with these eigenvalues."""
    G = np.random.default_rng(2).standard_normal((len(values),) * 2)
    Q = np.linalg.qr(np.eye(len(values)) + 0.01 * G if diagonal else G)[0]
    H = Q * values @ Q.T
    return (H + H.T) / 2.0


def rms(errors: list[float] | Array) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def probe_variance(C: Array, signs: bool, dimension: int) -> float:
    """Return the variance of the squared norm of C times a probe, on the sphere of C's range, or of random signs."""
    A = C @ C
    if signs:
        return 2.0 * float((A**2).sum() - (np.diag(A) ** 2).sum())
    d = dimension
    return 2.0 * d / (d + 2.0) * (float((A**2).sum()) - float(np.trace(A)) ** 2 / d)


def ours(H: Array, seeds: int) -> Iterator[tuple[float, float, str]]:
    """Yield products, error and setting of the public call."""
    operator, truth = DenseOperator(torch.from_numpy(H)), rank_of(H)
    for width in WIDTHS:
        found = [stable_rank_of(operator, rng=np.random.default_rng(s), relative_width=width) for s in range(seeds)]
        error = rms([one.value / truth - 1.0 for one in found])
        yield statistics.mean(one.products for one in found), error, f"width {width}"
        if error > 1.5 * GOAL:
            return


def by_lanczos(H: Array, seeds: int) -> dict[str, list[tuple[float, float, str]]]:
    """Return the three routes whose norm comes from Lanczos steps."""
    operator, square, top = DenseOperator(torch.from_numpy(H)), float((H**2).sum()), np.abs(np.linalg.eigvalsh(H)).max()
    runs = [Krylov(operator, np.random.default_rng(s)) for s in range(seeds)]
    plain = {signs: probe_variance(H, signs, P) / square**2 for signs in (False, True)}
    found: dict[str, list[tuple[float, float, str]]] = {"deflated": [], "plain": [], "signs": []}
    for steps in STEPS:
        norms, rests = [], []
        for krylov in runs:
            krylov.extend(steps - krylov.size)
            norms.append((krylov.largest / top) ** 2 - 1.0)
            V = krylov.basis.numpy()
            C = H - (H @ V.T) @ V
            C -= V.T @ (V @ C)
            rests.append(probe_variance(C, False, P - steps) / square**2)
        left = GOAL**2 - rms(norms) ** 2
        variances = {"deflated": statistics.mean(rests), "plain": plain[False], "signs": plain[True]}
        for route, variance in variances.items():
            probes = max(1, ceil(variance / left)) if left > 0.0 else inf
            found[route].append((steps + probes, GOAL, f"{steps} steps, {probes} probes"))
    return found


def by_blocks(H: Array, seeds: int, block: int) -> Iterator[tuple[float, float, str]]:
    """Yield block Lanczos steps and probes deflated by them, in whole blocks."""
    square, top = float((H**2).sum()), np.abs(np.linalg.eigvalsh(H)).max()
    for steps in range(1, 130 // block + 1):
        norms, rests = [], []
        for seed in range(seeds):
            Q = block_basis(H, block, steps, np.random.default_rng(seed))
            norms.append((np.abs(np.linalg.eigvalsh(Q.T @ H @ Q)).max() / top) ** 2 - 1.0)
            C = H - (H @ Q) @ Q.T
            C -= Q @ (Q.T @ C)
            rests.append(probe_variance(C, False, P - Q.shape[1]) / square**2)
        left = GOAL**2 - rms(norms) ** 2
        probes = block * ceil(statistics.mean(rests) / left / block) if left > 0.0 else inf
        yield steps * block + max(probes, block), GOAL, f"{steps} steps, {probes} probes"


def block_basis(H: Array, block: int, steps: int, rng: np.random.Generator) -> Array:
    """Return an orthonormal basis, in columns, of the Krylov space of some random vectors."""
    new = np.linalg.qr(rng.standard_normal((len(H), block)))[0]
    Q = new
    for _ in range(steps - 1):
        new = H @ new
        for _ in range(2):
            new = np.linalg.qr(new - Q @ (Q.T @ new))[0]
        Q = np.concatenate([Q, new], axis=1)
    return Q


def by_sketch(H: Array, seeds: int) -> Iterator[tuple[float, float, str]]:
    """Yield a sketch of the range, deflated probes of the rest, and the norm of the sketch or of Lanczos steps."""
    square, top = float((H**2).sum()), np.abs(np.linalg.eigvalsh(H)).max()
    for size in SKETCHES:
        norms, rests = [], []
        for seed in range(seeds):
            S = np.random.default_rng(seed).standard_normal((P, size))
            Q = np.linalg.qr(H @ S)[0]
            HQ = H @ Q
            norms.append((np.abs(np.linalg.eigvalsh(Q.T @ HQ)).max() / top) ** 2 - 1.0)
            C = H - HQ @ Q.T
            C -= Q @ (Q.T @ C)
            rests.append(probe_variance(C, False, P - size) / square**2)
        left = GOAL**2 - rms(norms) ** 2
        probes = max(1, ceil(statistics.mean(rests) / left)) if left > 0.0 else inf
        yield 2 * size + probes, GOAL, f"sketch of {size}, {probes} probes"


def by_xtrace(H: Array, seeds: int, steps: float) -> Iterator[tuple[float, float, str]]:
    """Yield XTrace of the square, two products with H for each, and Lanczos steps for an almost exact norm."""
    A, square = H @ H, float((H**2).sum())
    for size in SKETCHES:
        error = rms([xtrace(A, size, np.random.default_rng(seed)) / square - 1.0 for seed in range(seeds)])
        yield 4 * size + steps, error, f"{size} test vectors, {steps} steps"
        if error <= GOAL:
            return


def xtrace(A: Array, size: int, rng: np.random.Generator) -> float:
    """Compute XTrace (Epperly, Tropp and Webber, 2024): each test vector by the sketch of all others."""
    S = rng.standard_normal((len(A), size))
    S *= sqrt(len(A)) / np.linalg.norm(S, axis=0)
    Y, found = A @ S, []
    for one in range(size):
        Q = np.linalg.qr(np.delete(Y, one, axis=1))[0]
        rest = S[:, one] - Q @ (Q.T @ S[:, one])
        scale = (len(A) - size + 1) / float(rest @ rest)
        found.append(float(np.trace(Q.T @ A @ Q)) + scale * float(rest @ A @ rest))
    return float(np.mean(found))


def rank_of(H: Array) -> float:
    """Return the stable rank."""
    values = np.linalg.eigvalsh(H)
    return float((values**2).sum() / np.abs(values).max() ** 2)


def best(tried: Iterator[tuple[float, float, str]] | list[tuple[float, float, str]]) -> dict[str, Any]:
    """Return the fewest products whose error is at most the goal."""
    good = [(products, setting) for products, error, setting in tried if error <= GOAL and products < inf]
    return {"products": min(good)[0], "setting": min(good)[1]} if good else {"products": None}


def main() -> int:
    """Count and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    for name, (values, diagonal) in spectra().items():
        H = matrix_of(values, diagonal)
        routes = {route: best(tried) for route, tried in by_lanczos(H, options.seeds).items()}
        routes |= {f"blocks of {block}": best(by_blocks(H, options.seeds, block)) for block in BLOCKS}
        steps = next((float(s) for s in STEPS if _good_norm(H, s, options.seeds)), inf)
        routes |= {"sketch": best(by_sketch(H, options.seeds)), "xtrace": best(by_xtrace(H, 5, steps))}
        needed = [steps_to_certainty(H, seed) for seed in range(options.seeds)]
        certain = {"certain norm": {"least": min(needed), "median": statistics.median(needed)}}
        rows[name] = {"stable rank": rank_of(H), "ours": best(ours(H, options.seeds)), **routes, **certain}
        print(name, json.dumps(rows[name]), flush=True)
    environment = {**machine(), "packages": package_versions(("rankproof", "numpy", "scipy", "torch"))}
    content = {"P": P, "goal": GOAL, "seeds": options.seeds, "rows": rows, "environment": environment}
    options.out.write_text(json.dumps(content, indent=1) + "\n")
    return 0


def steps_to_certainty(H: Array, seed: int) -> int:
    """Return the Lanczos steps from one start until the squared norm is certain to the goal on either side.

    Certain by either bound: by that of the exact Frobenius norm of the rest, which nobody has, or by that which a
    starting vector breaks with the chance `CHANCE`.
    """
    krylov, square = Krylov(DenseOperator(torch.from_numpy(H)), np.random.default_rng(seed)), float((H**2).sum())
    while True:
        krylov.extend(1)
        certified = certified_norm(krylov, sqrt(max(square - known_square(krylov), 0.0)))
        highest = min(certified, probable_norm(krylov, 2.0 * CHANCE))  # of one end
        if (highest / krylov.largest) ** 2 - 1.0 <= 2.0 * GOAL:
            return krylov.size


def _good_norm(H: Array, steps: int, seeds: int) -> bool:
    operator, top = DenseOperator(torch.from_numpy(H)), np.abs(np.linalg.eigvalsh(H)).max()
    errors = []
    for seed in range(seeds):
        krylov = Krylov(operator, np.random.default_rng(seed))
        krylov.extend(steps)
        errors.append((krylov.largest / top) ** 2 - 1.0)
    return rms(errors) < 0.5 * GOAL


if __name__ == "__main__":
    sys.exit(main())
