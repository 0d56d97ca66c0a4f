"""Figure 2: the messages and the work of a round, seen in every operation."""

from __future__ import annotations

from collections.abc import Mapping

from paper_checks.claim import Intended, Reading
from paper_checks.fedlrt.measurements.counting import Counted
from paper_checks.fedlrt.measurements.layers import LAYERS_SCOPE, run_layers
from paper_checks.methods.relations import Relation, Relations, relations


@relations(
    "fedlrt/fig-2",
    where="Figure 2: its caption, whose beginning is missing from the text that we read, and what Section 3 says about "
    "its panels (S is also sent, as Section 3 says about panel 1; we did not see the drawing)",
    says=r"""1) The current global basis U, V is broadcast. 2) The basis gradients $G_{c,U}$, $G_{c,V}$ are
    aggregated. 3) The augmented basis $\bar U$, $\bar V$ is broadcast. 4) The clients' updates $\tilde S_c^{s_*}$
    are aggregated.""",
    measure=run_layers,
    readings=(
        Reading(
            "by the caption alone",
            "The caption as we read it: only U and V are broadcast first.",
            why="The beginning of the caption is lost in our copy of the paper, and so is the drawing.",
        ),
        Reading(
            "with the text",
            "1) The factorisation, U, V and S, is broadcast. 2) to 4) As in the caption.",
            {"panels": (("S", "U", "V"), ("U", "V"), ("Ubar", "Vbar"), ("coefficients",))},
            "Section 3 says about panel 1 that the factorisation is broadcast. Without S no client can compute the "
            "gradients of panel 2.",
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
    because="According to the caption, panel 1 does not contain S, but without S no client can compute the gradients "
    "of panel 2.",
    expect=("holds", "proof"),
    intended=Intended(
        "with the text", "Section 3: “the factorization is broadcast to the clients (panel 1)”, of which S is a part."
    ),
)
def fig_2(
    layers: Mapping[str, list[Counted]],
    variant: str = "FeDLRT",
    panels: tuple[tuple[str, ...], ...] = (("U", "V"), ("U", "V"), ("Ubar", "Vbar"), ("coefficients",)),
    sides: float = 2.0,
) -> Relations:
    """The messages without correction: four, their contents in order, and their sizes.

    The beginning of the caption is lost; with the full correction two messages more travel.
    """
    for one in layers[variant]:
        named = []
        for trip in one.trips:
            named.append({key for key, value in trip.sent.items() if isinstance(value, Mapping)})
            named.append({"coefficients" if key == "W" else key for key in trip.uploads[0]})
        agree = [a == set(b) for a, b in zip(named, panels, strict=False)]
        yield Relation("four messages", len(named), len(panels))
        yield Relation("what the panels show, in their order", float(sum(agree)), len(panels))
        m, n, r = one.sizes.m, one.sizes.n, one.sizes.r
        bases = m * r + n * r
        sizes = (bases + r**2 * ("S" in panels[0]), bases, bases, (sides * r) ** 2)
        for panel, (size, sent) in enumerate(zip(sizes, one.messages.values(), strict=False), start=1):
            case = {"m": m, "n": n, "r": r} if panel == 1 else None
            yield Relation(f"numbers of panel {panel}", sent, size, case=case)
    return (
        f"{LAYERS_SCOPE}, one round each: all messages of a round without correction; with the full correction "
        "two more travel; the beginning of the caption is lost"
    )
