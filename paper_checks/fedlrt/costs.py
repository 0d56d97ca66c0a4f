"""Sections 3 and 3.3, Figure 2: who computes and sends what, seen in every operation and message of a round."""

from __future__ import annotations

from collections.abc import Mapping

from paper_checks.claim import LITERAL, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.counting import FACTORISATIONS, LOW_RANK, METHODS, Counted, Sizes, count
from paper_checks.methods.promises import Promise, Promises, promises

LAYERS = (Sizes(16, 2, 2, 3), Sizes(16, 1, 1, 1), Sizes(24, 3, 1, 5, rows=17), Sizes(18, 4, 2, 3, rows=40))
LAYERS_SCOPE = "rounds on layers of 16 x 16, 17 x 24 and 40 x 18 at ranks 1 to 4, one and two local steps"


def run_layers(context: Context) -> dict[str, list[Counted]]:
    """A round of every method on every layer."""
    seed = context.integer_seed()
    return {method: [count(method, sizes, seed) for sizes in LAYERS] for method in (*METHODS, "naive")}


@promises(
    "fedlrt/claim-server-qr-svd",
    where="Section 3, low client compute cost",
    says=r"The clients only evaluate gradients of low-rank factors and optimise the small matrix $S \in \mathbb "
    r"R^{r \times r}$; for clients with GPUs this further implies that all parts that suit GPUs badly, SVD and QR "
    "decomposition for augmenting and compressing, are performed on the server.",
    measure=run_layers,
    readings=(
        LITERAL,
        Reading(
            "augmented coefficients",
            r"The same, with clients that optimise the augmented matrix $\tilde S \in \mathbb R^{2r \times 2r}$.",
            {"sides": 2.0},
            "The paragraph before has clients update the augmented coefficient matrix, and so does Algorithm 1.",
            ({"variants": ("naive",)}, {"sides": 4.0}),
        ),
    ),
    because=r"What clients optimise is the augmented $\tilde S$, 2r by 2r; the rest is as the sentence has it.",
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("depends on the reading", "proof"),
)
def claim_server_qr_svd(
    layers: Mapping[str, list[Counted]], variants: tuple[str, ...] = tuple(LOW_RANK), sides: float = 1.0
) -> Promises:
    """Where factorisations happen, and the size of what comes back after the local steps."""
    for variant in variants:
        for one in layers[variant]:
            found = one.factorisations()
            on_client = sum(operation.place == "client" for operation in found)
            yield Promise("no factorisation on a client", on_client, 0.0)
            kinds = {FACTORISATIONS[operation.name] for operation in found if operation.place == "server"}
            yield Promise("QR and SVD on the server", float(len(kinds)), 2.0)
            side = min(sides * one.sizes.r, one.sizes.n, one.sizes.m)
            yield Promise(
                "entries of the square matrix that a client optimises",
                one.last_upload,
                side**2,
                case={"n": one.sizes.n, "r": one.sizes.r},
            )
    return f"every operation of {LAYERS_SCOPE}"


@promises(
    "fedlrt/claim-two-rounds",
    where="Section 3, efficient communication",
    says="Similar to FedLin, FeDLRT requires in practice two communication rounds: one that aggregates and "
    "distributes global gradients for basis augmentation and variance correction, and one that aggregates "
    "the locally updated coefficients.",
    measure=run_layers,
    mutants=[{"rounds": 1}, {"rounds": 3}, {"variants": ("FeDLRT, full",)}],
    readings=(
        Reading(
            "with the simplified correction",
            "Without correction and with the simplified one a round of FeDLRT has two communication rounds, as "
            "FedLin's has: the first brings the gradients, the second the coefficients.",
            why="One communication round brings the gradients of the bases and those of the correction, which is so "
            "with the simplified correction only (Section 3.1, Algorithm 5).",
        ),
        Reading(
            "with either correction",
            "The same with the full correction too.",
            {"variants": tuple(LOW_RANK)},
            "The paragraph is about FeDLRT, and names no variant of it.",
        ),
    ),
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    because="With the full correction, lines 10 to 12 of Algorithm 1 are a third communication round, as in Table 1.",
    expect=("depends on the reading", "proof"),
)
def claim_two_rounds(
    layers: Mapping[str, list[Counted]],
    rounds: float = 2.0,
    variants: tuple[str, ...] = ("FeDLRT", "FeDLRT, simplified"),
) -> Promises:
    """Trips of the ledger; and that the last one brings the coefficients."""
    for variant in (*variants, "FedLin"):
        for one in layers[variant]:
            yield Promise("communication rounds", len(one.trips), rounds, case={"stated": 2})
            first = one.trips[0].uploads[0]
            gradients = {"U", "V"} <= set(first) if variant in LOW_RANK else "W" in first
            yield Promise("the first brings gradients", float(gradients), 1.0)
    told = {"FeDLRT": "without correction", "FeDLRT, simplified": "with the simplified one"}
    named = [told.get(variant, "with the full one") for variant in variants]
    return f"{LAYERS_SCOPE}; {', '.join(named)}, and FedLin"


@promises(
    "fedlrt/fig-2",
    where="Figure 2 and its caption, with the text of Section 3 on its panels",
    says=r"1) The current global basis U, V is broadcast. 2) The basis gradients $G_{c,U}$, $G_{c,V}$ are aggregated. "
    r"3) The augmented basis $\bar U$, $\bar V$ is broadcast. 4) The clients' updates $\tilde S_c^{s_*}$ are "
    "aggregated.",
    measure=run_layers,
    readings=(
        LITERAL,
        Reading(
            "with the text",
            "1) The factorisation, U, V and S, is broadcast. 2) to 4) As in the caption.",
            {"panels": (("S", "U", "V"), ("U", "V"), ("Ubar", "Vbar"), ("coefficients",))},
            "Section 3 says of panel 1 that the factorisation is broadcast; without S no client has the gradients of "
            "panel 2.",
            (
                {"variant": "FeDLRT, full"},
                {"variant": "FeDLRT, simplified"},
                {"panels": (("S", "U", "V"), ("U", "V"), ("U", "V"), ("coefficients",))},
                {"panels": (("Ubar", "Vbar", "S"), ("U", "V"), ("U", "V"), ("coefficients",))},
            ),
        ),
    ),
    kind="algorithm",
    uses=("fedlrt/alg-1",),
    because="The caption leaves S out of panel 1, without which no client has the gradients of panel 2.",
    expect=("depends on the reading", "proof"),
)
def fig_2(
    layers: Mapping[str, list[Counted]],
    variant: str = "FeDLRT",
    panels: tuple[tuple[str, ...], ...] = (("U", "V"), ("U", "V"), ("Ubar", "Vbar"), ("coefficients",)),
    sides: float = 2.0,
) -> Promises:
    """The messages without correction: four, their contents in order, and their sizes.

    The beginning of the caption is lost; with the full correction two messages more travel.
    """
    for one in layers[variant]:
        named = []
        for trip in one.trips:
            named.append({key for key, value in trip.sent.items() if isinstance(value, Mapping)})
            named.append({"coefficients" if key == "W" else key for key in trip.uploads[0]})
        agree = [a == set(b) for a, b in zip(named, panels, strict=False)]
        yield Promise("four messages", len(named), len(panels))
        yield Promise("what the panels show, in their order", float(sum(agree)), len(panels))
        m, n, r = one.sizes.m, one.sizes.n, one.sizes.r
        bases = m * r + n * r
        sizes = (bases + r**2 * ("S" in panels[0]), bases, bases, (sides * r) ** 2)
        for panel, (size, sent) in enumerate(zip(sizes, one.messages.values(), strict=False), start=1):
            case = {"m": m, "n": n, "r": r} if panel == 1 else None
            yield Promise(f"numbers of panel {panel}", sent, size, case=case)
    return (
        f"{LAYERS_SCOPE}, one round each: all messages of a round without correction; with the full correction "
        "two more travel; the beginning of the caption is lost"
    )


@promises(
    "fedlrt/claim-svd-size",
    where="Section 3.3",
    says="The server's compute cost scales linearly with the layer dimension n, as the SVD for truncation is "
    r"needed of the augmented coefficient matrix only, of size $2r \times 2r$.",
    measure=run_layers,
    mutants=[{"sides": 1.0}, {"sides": 4.0}, {"variants": ("naive",)}],
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
)
def claim_svd_size(
    layers: Mapping[str, list[Counted]], sides: float = 2.0, variants: tuple[str, ...] = tuple(LOW_RANK)
) -> Promises:
    """The shape of every SVD, one in a round; QR is of a basis with its gradient beside it."""
    for variant in variants:
        for one in layers[variant]:
            shapes = {
                kind: [o.shapes[0] for o in one.factorisations() if FACTORISATIONS[o.name] == kind]
                for kind in ("QR", "SVD")
            }
            yield Promise("one SVD in a round", len(shapes["SVD"]), 1.0)
            for shape in shapes["SVD"]:
                for side in shape:
                    yield Promise("sides of the matrix decomposed", side, sides * one.sizes.r)
            widest = max((shape[1] for shape in shapes["QR"]), default=0)
            yield Promise("columns of the matrices orthonormalised", widest, 2.0 * one.sizes.r)
    return f"{LAYERS_SCOPE}, 2r at most the smaller side"


@promises(
    "fedlrt/claim-no-full-matrix",
    where="Section 3.3",
    says="The complete federated learning process is performed on the low-rank factors, and the full matrix $W_r$ is "
    "never required, as, e.g., in [31, 44].",
    measure=run_layers,
    mutants=[{"variants": ("naive",)}, {"variants": ("FedAvg",)}, {"columns": 1.0}],
    readings=(
        Reading(
            "the boxes, and layers of a network",
            "Whatever the loss is as a function of $W_r$, no line of Algorithms 1, 2 and 5 forms a matrix of as many "
            "entries as $W_r$ outside of the gradients that it asks for. For a layer that acts on samples as $x "
            r"\mapsto W_rx$, with 2r below its smaller side, no round forms a matrix of as many entries, at the server "
            "or at a client, other than those of the samples.",
            why="Section 2: W is the weight matrix of a layer of a network. Of a loss that is any function of W the "
            r"gradient in U may be computed as $\nabla_W\mathcal{L}\,VS^\top$, by way of a full matrix; the other "
            "lines do not know the loss.",
        ),
    ),
    uses=("fedlrt/alg-1", "fedlrt/alg-5"),
    expect=("holds", "proof"),
)
def claim_no_full_matrix(
    layers: Mapping[str, list[Counted]], variants: tuple[str, ...] = tuple(LOW_RANK), columns: float = 2.0
) -> Promises:
    """The largest matrix that any operation at server or client gives: a wide basis."""
    for variant in variants:
        for one in layers[variant]:
            bound = columns * one.sizes.r * max(one.sizes.m, one.sizes.n)
            yield Promise("entries of the largest matrix formed", one.largest(), bound, at_most=True)
    return f"every result of an operation in {LAYERS_SCOPE}"
