"""Coverage of the intervals of all quantities on matrices of known spectra and on small networks.

``python benchmarks/quantity_coverage.py`` measures every quantity with fresh starting vectors and probes and writes to
``quantity_coverage.json`` the environment and, by matrix and quantity, the share of intervals that contain the exact
value (nominal 95 %; of a density, the share of bands that contain the distribution function everywhere; of a diagonal,
the share of entries), the median width relative to the value, the share that reached the width asked for, and the
median number of products for all quantities of the matrix together. An interrupted run resumes, unless the
estimators have changed since.

``--headline`` measures only trace, sharpness and stable rank, asked together, 2,000 times on each of these matrices and
on the networks of `interval_coverage.py`, and writes to ``headline_coverage.json``.

``--alone`` measures the sharpness by itself on the same matrices as often, where fewer steps suffice, and adds it to
the same file as ``sharpness alone``.

``--traces N`` compares estimators of the trace instead, at the same number of products, and writes to
``trace_estimators.json`` their root mean square errors: vectors of signs (Hutchinson), Hutch++ (Meyer, Musco, Musco and
Woodruff, 2021), XTrace (Epperly, Tropp and Webber, 2024), and a Krylov basis with probes of its complement.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom
from torch import Tensor, nn

from benchmarks.interval_coverage import CONFIDENCE, KNOWN, hessians, rotated
from figures.provenance import machine, package_versions, sources_digest
from hessian import Curvature, DenseOperator, Krylov, Profile, measure
from hessian.lanczos.probes import draw_probes
from hessian.lanczos.stable_rank import FIRST_STEPS
from hessian.quantities.names import Quantity
from workloads.files import write_whole
from workloads.image_networks.small import perceptron
from workloads.progress import follow

Array = NDArray[np.float64]
WIDTH, STEPS, PRODUCTS, BASIS = 0.1, 12, 270, 24
FEW_ROWS = 8
"""Rows of a basis in which extreme eigenvalues do not converge."""
REPETITIONS = 200
HEADLINE = ("trace", "sharpness", "stable-rank")
HEADLINE_REPETITIONS = 2000
ALONE = ("sharpness",)


def matrices() -> dict[str, Tensor]:
    """Return matrices of hard spectra, rotated, and exact matrices of two small networks."""
    spectra = {
        **KNOWN,
        "eigenvalues 1.5 and 99 of modulus 1": np.r_[1.5, np.tile([-1.0, 1.0], 50)[:99]],
        "ten eigenvalues, ten times each": np.repeat(np.linspace(-0.4, 1.0, 10), 10),
        "semidefinite: powers of 0.9": 0.9 ** np.arange(100.0),
        "semidefinite: rank 20 of 100": np.r_[np.linspace(0.5, 2.0, 20), np.zeros(80)],
    }
    found: dict[str, Tensor] = {}
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(100, 6, generator=generator).double()
    targets, labels = (
        torch.randn(100, 3, generator=generator).double(),
        torch.randint(0, 4, (100,), generator=generator),
    )
    for name, loss, outputs, given in (
        ("squared loss", nn.functional.mse_loss, 3, targets),
        ("cross-entropy", nn.functional.cross_entropy, 4, labels),
    ):
        for matrix in ("hessian", "gauss-newton"):
            operator = Curvature(perceptron(6, (7,), outputs, 0), loss, (inputs, given), matrix=matrix)
            dense = operator.products(torch.eye(operator.P, dtype=torch.float64))
            kind = "semidefinite: " if matrix == "gauss-newton" else ""
            found[f"{kind}{matrix} of a perceptron, {name}"] = (dense + dense.T) / 2.0
    return found | {name: rotated(np.asarray(values, dtype=float))[0] for name, values in spectra.items()}


def quantities_of(name: str, values: Array) -> list[str]:
    """Return the quantities to measure, with thresholds amid the spectrum and one exactly at an eigenvalue."""
    size = float(np.abs(values).max())
    sides = (values[values > 1e-9 * size], -values[values < -1e-9 * size])
    names = ["trace", "sharpness", "smallest", "frobenius-squared", "stable-rank", "diagonal", "density"]
    for kind, side in zip(("count-above", "count-below"), sides, strict=True):
        if len(side):
            names += [f"{kind}={0.999 * float(np.median(side))!r}"]
    if name.startswith("semidefinite"):
        names += [f"{kind}={0.01 * size!r}" for kind in ("log-det", "effective-dimension")]
    return names


def truth(quantity: Quantity, matrix: Tensor, values: Array) -> Any:
    """Return the exact value; of a density, the eigenvalues."""
    T = quantity.threshold or 0.0
    return {
        "trace": lambda: values.sum(),
        "sharpness": values.max,
        "smallest": values.min,
        "frobenius-squared": lambda: (values**2).sum(),
        "stable-rank": lambda: (values**2).sum() / np.abs(values).max() ** 2,
        "count-above": lambda: (values > T).sum(),
        "count-below": lambda: (values < -T).sum(),
        "effective-dimension": lambda: (np.maximum(values, 0.0) / (np.maximum(values, 0.0) + T)).sum(),
        "log-det": lambda: np.log(np.maximum(values, 0.0) + T).sum(),
        "diagonal": lambda: matrix.diagonal().numpy(),
        "density": lambda: np.sort(values),
    }[quantity.name]()


def covered(found: Any, exact: Any) -> float:
    """Return the share of what an interval or a band contains; of a band, all or nothing."""
    if not isinstance(found, Profile):
        return float(exact in found)
    if found.quantity.name == "diagonal":
        return float(((found.low <= exact) & (exact <= found.high)).mean())
    slack = 1e-12 * float(np.abs(exact).max())  # eigenvalues of the reference are rounded, too
    inside, outside = found.bracket(exact - slack), found.bracket(exact + slack)
    below = np.searchsorted(exact, exact - slack, side="left") / len(exact)
    upto = np.searchsorted(exact, exact + slack, side="right") / len(exact)
    return float((inside[0] <= below + 1e-12).all() and (outside[1] >= upto - 1e-12).all())


def case(name: str, matrix: Tensor, repetitions: int, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """Measure all quantities of one matrix so many times, or only some."""
    operator, values = DenseOperator(matrix), torch.linalg.eigvalsh(matrix).numpy()
    names = [Quantity.of(one) for one in (only or quantities_of(name, values))]
    suffix = " alone" if only == ALONE else ""
    extremes = [] if only else [Quantity("sharpness"), Quantity("smallest")]
    held: dict[str, list[tuple[float, float, float, bool]]] = {}
    started, products = time.perf_counter(), []
    for seed in follow(range(repetitions), name, "seed"):
        common: dict[str, Any] = {
            "relative_width": WIDTH,
            "confidence": CONFIDENCE,
            "seed": seed,
            "steps": STEPS,
            "chunk": 8,
        }
        found = measure(operator, names, products=PRODUCTS, basis=BASIS, **common)
        few = measure(operator, extremes, products=PRODUCTS, basis=FEW_ROWS, **common) if extremes else None
        products.append(sum(found.products.values()))
        for label, one, result in [
            *((f"{one}{suffix}", one, found[one]) for one in names),
            *((f"{one} from {FEW_ROWS} rows", one, few[one]) for one in extremes if few is not None),
        ]:
            exact = truth(one, matrix, values)
            size = max(float(np.abs(exact).max()), 1e-300) if one.name != "density" else 1.0
            width = float(np.median(result.high - result.low)) / size
            error = 0.0 if isinstance(result, Profile) else abs(result.value - float(exact)) / size
            held.setdefault(label, []).append((covered(result, exact), width, error, result.reached))
    seconds = time.perf_counter() - started
    rows = []
    for label, results in held.items():
        one = Quantity.of(label.partition(" ")[0])
        shares, widths, errors, reached = map(np.array, zip(*results, strict=True))
        rows.append(
            {
                "matrix": name,
                "quantity": label,
                "parameters": len(matrix),
                "value": None if one.name in ("diagonal", "density") else float(truth(one, matrix, values)),
                "repetitions": repetitions,
                "coverage": float(shares.mean()),
                "chance_of_so_few": float(binom.cdf(round(shares.sum()), repetitions, CONFIDENCE)),
                "median_relative_width": float(np.median(widths)),
                "rms_relative_error": float(np.sqrt((errors**2).mean())),
                "reached": float(reached.mean()),
                "median_products_of_all": float(np.median(products)),
                "seconds_of_all": seconds,
                "estimator": digest(),
            }
        )
    return rows


@lru_cache
def digest() -> str:
    """Return the digest of the estimators' executable code, on which the numbers depend."""
    lanczos = [f"hessian/lanczos/{name}.py" for name in ("basis_rows", "bounds", "krylov", "probes", "stable_rank")]
    names = ("diagonal", "measurement", "quadrature_probes", "random_forms", "rules", "shared_search")
    return sources_digest([*lanczos, *(f"hessian/quantities/{name}.py" for name in names)])[:16]


def hutchinson(matrix: Tensor, products: int, rng: np.random.Generator) -> float:
    """Return the mean of quadratic forms of signs."""
    signs = _signs(len(matrix), products, rng)
    return float(((matrix @ signs) * signs).sum()) / products


def hutch_plus_plus(matrix: Tensor, products: int, rng: np.random.Generator) -> float:
    """Return the trace on the range of a sketch, and Hutchinson's estimate of the rest."""
    third = products // 3
    Q = torch.linalg.qr(matrix @ _signs(len(matrix), third, rng))[0]
    G = _signs(len(matrix), products - 2 * third, rng)
    G = G - Q @ (Q.T @ G)
    return float(((matrix @ Q) * Q).sum()) + float(((matrix @ G) * G).sum()) / G.shape[1]


def xtrace(matrix: Tensor, products: int, rng: np.random.Generator) -> float:
    """Return the mean over vectors of Hutch++ with one of them as probe and the others as sketch."""
    P, half = len(matrix), products // 2
    S = _signs(P, half, rng)
    Y = matrix @ S
    total = 0.0
    for one in range(half):
        Q = torch.linalg.qr(torch.cat([Y[:, :one], Y[:, one + 1 :]], dim=1))[0]
        x = S[:, one] - Q @ (Q.T @ S[:, one])
        x = x * ((P - half + 1) ** 0.5 / float(torch.linalg.vector_norm(x)))
        total += float(((matrix @ Q) * Q).sum()) + float(x @ (matrix @ x))
    return total / half


def krylov_and_probes(matrix: Tensor, products: int, rng: np.random.Generator, rows: int | None = None) -> float:
    """Return the trace on a Krylov basis, of half of the products or fewer, and the mean form of probes of the rest."""
    krylov = Krylov(DenseOperator(matrix), rng)
    krylov.extend(min(rows or products // 2, products // 2))
    probes = draw_probes(DenseOperator(matrix), krylov.span, products - krylov.size, rng, forms=True)
    return float(krylov.compression.trace() + (probes.forms.sum() if probes.exact else probes.forms.mean()))


def _signs(P: int, count: int, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.choice([-1.0, 1.0], (P, count)))


ESTIMATORS = {
    "Hutchinson": hutchinson,
    "Hutch++": hutch_plus_plus,
    "XTrace": xtrace,
    "Krylov basis of half, probes": krylov_and_probes,
    "Krylov basis of 12 rows, probes": partial(krylov_and_probes, rows=FIRST_STEPS),
}


def compare_traces(repetitions: int, out: Path) -> int:
    """Write root mean square errors of estimators of the trace, relative to the norm, at equal products."""
    rows = []
    for name, matrix in matrices().items():
        trace, size = float(matrix.trace()), float(torch.linalg.matrix_norm(matrix))
        for products in (24, 48):
            row: dict[str, Any] = {"matrix": name, "products": products, "repetitions": repetitions}
            for label, estimator in ESTIMATORS.items():
                errors = [
                    estimator(matrix, products, np.random.default_rng([3, seed])) - trace for seed in range(repetitions)
                ]
                row[label] = float(np.sqrt(np.mean(np.square(errors)))) / size
            rows.append(row)
            print(json.dumps(row), flush=True)
    answer = {
        "about": "root mean square error over the Frobenius norm",
        "cases": rows,
        "environment": {**machine(), "packages": package_versions(("numpy", "scipy", "torch"))},
    }
    write_whole({out: (json.dumps(answer, indent=1) + "\n").encode()})
    return 0


def main() -> int:
    """Measure all matrices; return 1 if a coverage is below nominal beyond chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    help_of_repetitions = f"default: {REPETITIONS}, or {HEADLINE_REPETITIONS} with --headline"
    parser.add_argument("--repetitions", type=int, help=help_of_repetitions)
    parser.add_argument("--headline", action="store_true", help="only trace, sharpness and stable rank, more often")
    parser.add_argument("--alone", action="store_true", help="only the sharpness, by itself, more often")
    parser.add_argument("--only", default="", help="matrices whose name contains this")
    parser.add_argument("--traces", type=int, default=0, metavar="N", help="compare estimators of the trace instead")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    only = ALONE if options.alone else HEADLINE if options.headline else ()
    name_of_file = "headline_coverage.json" if only else "quantity_coverage.json"
    out = options.out or Path(__file__).with_name(name_of_file)
    repetitions = options.repetitions or (HEADLINE_REPETITIONS if only else REPETITIONS)
    torch.set_num_threads(1)
    digest()  # of what was imported
    if options.traces:
        return compare_traces(options.traces, Path(__file__).with_name("trace_estimators.json"))
    rows: list[dict[str, Any]] = json.loads(out.read_text())["cases"] if out.exists() else []
    done = {
        row["matrix"]
        for row in rows
        if row["estimator"] == digest()
        and row["repetitions"] == repetitions
        and row["quantity"].endswith(" alone") == options.alone
    }
    for name, matrix in ({**matrices(), **hessians()} if only else matrices()).items():
        if options.only not in name or name in done:
            continue
        fresh = case(name, matrix, repetitions, only)
        again = {row["quantity"] for row in fresh}
        rows = [*(row for row in rows if row["matrix"] != name or row["quantity"] not in again), *fresh]
        answer = {
            "confidence": CONFIDENCE,
            "settings": {
                "relative_width": WIDTH,
                "steps": STEPS,
                "products": PRODUCTS,
                "basis": BASIS,
                "few_rows": FEW_ROWS,
            },
            "cases": rows,
            "environment": {**machine(), "packages": package_versions(("rankproof", "numpy", "scipy", "torch"))},
        }
        write_whole({out: (json.dumps(answer, indent=1) + "\n").encode()})
        for row in fresh:
            print(
                f"{name}, {row['quantity']}: covered {row['coverage']:.3f}, width {row['median_relative_width']:.3g}, "
                f"reached {row['reached']:.2f}",
                flush=True,
            )
        print(f"  {fresh[0]['median_products_of_all']:.0f} products, {fresh[0]['seconds_of_all']:.0f} s", flush=True)
    return 0 if all(row["chance_of_so_few"] > 1e-3 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
