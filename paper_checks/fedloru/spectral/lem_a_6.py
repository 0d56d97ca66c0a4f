"""Lemma A.6 (Appendix A.5): the angle between eigenvectors of two clients."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.pairs_of_clients import CLIENTS, KEPT, OUTLIERS, draw_pairs_of_clients
from paper_checks.fedloru.spectral.measurements.spectra import Spectra, limiting_overlap, measure_overlaps
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit


def outlier_overlaps(context: Context) -> Spectra:
    """Measure own overlaps of the spikes that leave the bulk, not squared."""
    measured = measure_overlaps(context)
    kept = {name: pair for name, pair in measured.spikes.items() if abs(pair[1]) > pair[0].noise}
    ladders = {name: Ladder(tuple((R, np.sqrt(draws)) for R, draws in measured.ladders[name].rungs)) for name in kept}
    return Spectra(ladders, kept)


@claim(
    "fedloru-v2/def-phi",
    where="Appendix A.5, after Assumption A.5",
    says=r"""Define $\phi_i = \sqrt{1 - \frac{\sigma^2s_N^2}{\theta_i^2}}$, and note that $|\langle v_i,
    u_i^{(k)}\rangle| \to \phi_i^2$ by (5).""",
    measure=outlier_overlaps,
    control=Form(
        r"Eq. (5) itself for Gaussian noise and $|\theta_i| > \sigma s_N$: the square tends to $\phi_i^2$.",
        {"power": 1.0},
    ),
    correction=Form(
        r"""$|\langle v_i, u_i^{(k)}\rangle| \to \phi_i$, so $|\langle v_i, u_i^{(k)}\rangle|^2 \to \phi_i^2$: what
        eq. (5) says and the proof of Lemma A.6 uses. For $|\theta_i| > \sigma s_N$ and noise for which (5) holds.""",
        {"power": 1.0},
        mutants=({"power": 1.5}, {"coefficient": 1.05}),
    ),
    kind="definition",
    uses=("fedloru-v2/eq-5",),
    importance="detail",
    because=r"Eq. (5) gives $\phi_i^2$ as the limit of the squared overlap, not of the overlap.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“|⟨v_i, u_i^(k)⟩| → φ_i² by (5)”: (5) gives the square of the overlap, and (46) uses φ_i for the overlap",
    ),
    print="misprint",
)
def def_phi(data: Spectra, power: float = 2.0, coefficient: float = 1.0) -> Evidence:
    """Overlaps of outliers of either sign, near the threshold and far from it, one at a time and together."""

    def predict(power: float, coefficient: float) -> Predictions:
        return {
            name: limiting_overlap(setting, theta, False, coefficient, 2.0, True) ** (power / 2.0)
            for name, (setting, theta) in data.spikes.items()
        }

    return judge_limit(
        data.ladders,
        predict(power, coefficient),
        scope="spikes above the threshold, of either sign, Gaussian noise",
        settings=data.numbers(),
    )


def _name(index: int) -> str:
    return f"u_{index + 1}" if index < OUTLIERS else f"w_{index + 1 - OUTLIERS}"


def measure_inner_products(context: Context) -> dict[str, Ladder]:
    """Measure inner products of leading eigenvectors of two clients, each oriented towards its nearest spike."""
    clients = draw_pairs_of_clients(context)
    table = np.array([pair.oriented().inner for pair in clients])
    return {
        f"<{_name(i)}, {_name(j)}'>": Ladder(((clients[0].R, table[:, i, j]),), "spikes are far from their thresholds")
        for i in range(KEPT)
        for j in range(i, KEPT)
    }


def inner_products(power: float, cross: float, agreement: float) -> Predictions:
    r"""Return the limits $\phi_i\phi_j 1\{i = j\}$ of Lemma A.6 for all pairs of leading eigenvectors.

    ``cross`` is the limit at different or bulk eigenvectors, ``agreement`` for the expected product of the two
    clients' orientations: 1 towards the spike, 0 where signs are arbitrary.
    """
    found = {}
    for i in range(KEPT):
        for j in range(i, KEPT):
            own = i == j and i < OUTLIERS
            overlap = sorted(CLIENTS.outliers, key=lambda o: -abs(o.location))[i].overlap if own else 0.0
            found[f"<{_name(i)}, {_name(j)}'>"] = agreement * overlap ** (power / 2.0) if own else cross
    return found


@claim(
    "fedloru-v2/lem-A.6",
    where="Appendix A.5, Lemma A.6, eqs. (46) to (48) (a premise of its proof, which fails: fedloru-v2/assump-bulk)",
    says=r"""Let $\phi_i^{(k)}$ be the angle between $v_i$ and $u_i^{(k)}$; by (5), $\phi_i^{(k)} \to \phi_i$. Using
    this, $u_i^{(k)} = \phi_i^{(k)}v_i + \sqrt{1 - (\phi_i^{(k)})^2}\,r_i^{(k)}$, $r_i^{(k)}$ random and orthogonal to
    $v_i$ ((46), and (47) for j), $\langle u_i^{(k_1)}, u_j^{(k_2)}\rangle = \langle\phi_i^{(k_1)}v_i,
    \phi_j^{(k_2)}v_j\rangle + \langle\phi_i^{(k_1)}v_i, \sqrt{1 - (\phi_j^{(k_2)})^2}\,r_j^{(k_2)}\rangle +
    \langle\sqrt{1 - (\phi_i^{(k_1)})^2}\,r_i^{(k_1)}, \phi_j^{(k_2)}v_j\rangle + \langle\sqrt{1 -
    (\phi_i^{(k_1)})^2}\,r_i^{(k_1)}, \sqrt{1 - (\phi_j^{(k_2)})^2}\,r_j^{(k_2)}\rangle$ (48), where the parts with an r
    average to zero: for any $k_1 \ne k_2$, i, j, $E\langle u_i^{(k_1)}, u_j^{(k_2)}\rangle \to \phi_i\phi_j 1\{i=j\}$,
    $E\langle w_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$, $E\langle u_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$.""",
    measure=measure_inner_products,
    readings=(
        Reading(
            "the angle itself",
            r"The angle between $v_i$ and $u_i^{(k)}$, in radians, tends to $\phi_i$, so its cosine, the "
            r"coefficient of $v_i$ in $u_i^{(k)}$, tends to $\cos(\phi_i)$ and $E\langle u_i^{(k_1)}, "
            r"u_i^{(k_2)}\rangle$ to $\cos^2(\phi_i)$; the other limits are 0.",
            why="The proof calls it the angle.",
        ),
        Reading(
            "its cosine, with Gaussian noise",
            r"With $\phi_i^{(k)}$ the cosine of that angle, the three limits for independent clients, Gaussian noise "
            "(for the $w_i$ of the model with twice the variance on the diagonal; for $w_i$ that are uniform, as the "
            "proof takes them, any Gaussian noise) and $u_i$ of outliers; for other noise see prop-3.1-dist and eq-5.",
            {"angle": "its cosine"},
            "(46) has it as the coefficient of $v_i$, and (5) the limit of its square. The proof takes the $r_i$ and "
            "$w_i$ as uniformly distributed and speaks of rotational symmetry, which of all Wigner matrices the "
            "Gaussian ones have.",
            ({"power": 1.0}, {"power": 4.0}, {"cross": 0.1}),
        ),
    ),
    mutants=[],
    hypotheses=(Dropped(r"$u_i^{(k)}$ oriented towards $v_i$ (eqs. 46 and 47)", {"agreement": 0}),),
    uses=("fedloru-v2/eq-5", "fedloru-v2/def-phi"),
    best={"power": Best(2.0, r"proved: the limit is $\phi_i^2$ for $i = j$, 0 else")},
    because=r"Eq. (5) gives $\phi_i$ as the limit of the cosine, which (46) needs. The angle tends to "
    r"$\arccos(\phi_i)$.",
    expect=("holds", "proof"),
    intended=Intended(
        "its cosine, with Gaussian noise",
        "“Let φ_i^(k) be the angle”, yet (46) has φ_i^(k) as the coefficient of v_i in u_i^(k): the cosine, "
        "with u_i turned towards v_i",
    ),
    print="misprint",
    family="Gaussian noise",
)
def lem_A_6(
    ladders: dict[str, Ladder], angle: str = "itself", power: float = 2.0, cross: float = 0.0, agreement: int = 1
) -> Evidence:
    """All pairs of three outliers and two bulk eigenvectors."""
    predicted = dict(inner_products(power, cross, agreement))
    if angle == "itself":
        predicted |= {f"<u_{i}, u_{i}'>": float(np.cos(predicted[f"<u_{i}, u_{i}'>"] ** 0.5) ** 2) for i in (1, 2, 3)}
    return judge_limit(
        ladders,
        predicted,
        resolution=0.02,
        scope="two independent clients, spikes at 3, 2 and -1.5 sigma s, the two leading bulk eigenvectors; each "
        "eigenvector oriented towards its nearest spike, since with arbitrary signs every expectation is 0",
    )


@claim(
    "fedloru-v2/eq-49-50",
    where="Appendix A.5, eqs. (49) and (50); that the $w_i$ are uniform, a premise here, is judged in "
    "fedloru-v2/assump-bulk",
    says=r"""$w_i^{(k_1)}$ and $w_j^{(k_2)}$ are independent, uniform on the spheres in $(U^{(k_1)})^\perp$ and
    $(U^{(k_2)})^\perp$; by rotational symmetry $E\langle w_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$ (49), and since
    $w_i^{(k_1)} \perp U_N^{(k_1)}$, $u_j^{(k_2)} \in U_N^{(k_2)}$, $E\langle u_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$
    (50).""",
    measure=measure_inner_products,
    readings=(
        Reading(
            "Gaussian noise",
            "With the premise, both limits for any noise. Without it, for the bulk eigenvectors of the model, which "
            "are not uniform, both limits for independent clients and Gaussian noise with twice the variance on the "
            "diagonal, whose law no rotation changes.",
            why="The lines appeal to rotational symmetry, which the premise states and of all Wigner matrices the "
            "Gaussian ones have.",
        ),
    ),
    mutants=[{"bulk": 0.05}, {"mixed": 0.05}, {"bulk": -0.05}],
    expect=("holds", "proof"),
    intended=Intended(
        "Gaussian noise",
        "“Due to the rotational symmetry of these spaces, the expected inner product averages to zero” (A.5): the "
        "premise states the symmetry, and of all Wigner matrices the Gaussian ones have it",
    ),
    family="Gaussian noise, without the premise",
)
def eq_49_50(ladders: dict[str, Ladder], bulk: float = 0.0, mixed: float = 0.0) -> Evidence:
    """Inner products with bulk eigenvectors."""
    kept = {name: ladder for name, ladder in ladders.items() if "w" in name}

    def predict(bulk: float, mixed: float) -> Predictions:
        return {name: mixed if "u" in name else bulk for name in kept}

    return judge_limit(
        kept,
        predict(bulk, mixed),
        resolution=0.02,
        scope="two independent clients, three outliers and the two leading bulk eigenvectors of each, oriented towards "
        "the spikes",
    )
