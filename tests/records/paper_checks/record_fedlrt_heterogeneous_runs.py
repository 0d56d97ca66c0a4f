"""Records of what FeDLRT's claims on the heterogeneous test say of runs that are invented, so that they are short."""

from dataclasses import replace

import numpy as np
from forms_shown import forms_shown

from paper_checks.fedlrt import fig_1
from paper_checks.fedlrt.measurements.legendre_runs import CLOSE, KINDS, Run

RUN = Run((2.0, 0.5, 0.03, 1e-3, 1e-5, 8e-7), (5, 5, 4, 4, 4, 4), (3.0, 0.2, 0.01, 1e-5, 1e-9, 1e-12))
FIRST = Run(RUN.distances[:4], RUN.ranks[:4], RUN.losses[:4])
SHORT = Run((2.0, 0.7, 0.02, 0.011), (5, 4, 3, 3), (3.0, 0.4, 0.02, 0.01))


def _limits(averaged, corrected, apart, size=3.0):
    return fig_1.Limits(apart, averaged, corrected, size)


def _compared(**changed):
    limits = {
        (basis, split): _limits(*values)
        for basis, size in (("uniform", 1.0), ("dx", 2.0), ("plain", 3.0))
        for split, values in (
            ("all", (2e-6 * size, 3e-6, 1e-12 * size)),
            ("random", (2e-3 * size, 1e-12, 0.1)),
            ("region", (5e-2 * size, 4e-12, 0.2)),
        )
    }
    found = fig_1.Compared(
        limits,
        [dict.fromkeys(KINDS, RUN), dict.fromkeys(KINDS, SHORT)],
        RUN,
        {(0.01, 1, 1.0): RUN, (0.1, 5, 0.01): SHORT},
        (2.0, 0.9, 0.3, 0.02, 1e-3, 9e-6),
        replace(RUN, distances=(2.0, 0.1, 9e-6, 2e-7)),
        11,
        3e-10,
        SHORT,
        7e-6,
    )
    return replace(found, **changed)


def rounds_and_sizes_of_compared_runs():
    one = _compared()
    yield one.rounds, one.size, one.same, one.stopped
    moved = replace(RUN, distances=(2.0, 0.5 + 1e-6, *RUN.distances[2:]))
    yield _compared(long=moved).same, _compared(variants=[{"none": RUN, "simplified": moved, "full": RUN}]).same
    yield _compared(full_rank=(2.0, 0.9, CLOSE)).rounds, _compared(full_rank=(2.0, 0.9)).rounds


def figure_1_on_invented_runs():
    yield from forms_shown(fig_1.fig_1, _compared())
    yield from forms_shown(fig_1.fig_1, _compared(full_rank=(2.0, 0.1, 9e-6)))


def convergence_of_the_heterogeneous_test():
    yield from forms_shown(fig_1.claim_het_converge, _compared())
    yield from forms_shown(fig_1.claim_het_converge, _compared(along_full_rank=6, full_rank=(2.0, 1e-6)))


def plateaus_of_the_heterogeneous_test():
    yield from forms_shown(fig_1.claim_het_plateau, _compared())


def stops_by_the_threshold():
    yield from forms_shown(fig_1.claim_thm3_figure, _compared())
    yield from forms_shown(fig_1.claim_thm3_figure, _compared(short_of=RUN, short_of_full_rank=2e-5, long=FIRST))


def numbers_that_are_sent():
    for method in ("FeDLRT, simplified", "FeDLRT, full", "FedLin"):
        yield [fig_1.numbers_sent(method, n, ranks) for n, ranks in ((10, (4, 5)), (7, (1, 2, 2)), (10, ()))]


def rounds_of_full_rank_along_axes():
    for sizes in (fig_1.TWO_AXES, fig_1.FOUR_AXES[:1]):
        grid = fig_1.along_axes(1, "plain", sizes)
        yield grid.excess(np.zeros((10, 10))), np.diag(grid.target)[:3]


def settings_of_the_heterogeneous_test():
    found = {basis: fig_1.Setting(0.0, (1.0, 0.5, 1e-3, 2e-6, 9e-7), 2e-10) for basis in ("uniform", "dx", "plain")}
    yield from forms_shown(fig_1.exp_heterogeneous, found)
    yield from forms_shown(fig_1.exp_heterogeneous, {**found, "dx": fig_1.Setting(1e-3, (1.0, 0.5, 1e-3), 2e-3)})
