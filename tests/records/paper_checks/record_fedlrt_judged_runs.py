"""Records of what FeDLRT's claims on long runs say of runs that are invented, so that they are short."""

from dataclasses import replace

from forms_shown import forms_shown

from paper_checks.fedlrt import fig_4, full_rank_distance, sec_4_1, thm_3
from paper_checks.fedlrt.measurements import least_squares
from paper_checks.fedlrt.measurements.legendre_runs import Run

RUN = Run((2.0, 0.5, 0.03, 1e-3, 1e-5, 8e-7), (5, 5, 4, 4, 4, 4), (3.0, 0.2, 0.01, 1e-5, 1e-9, 1e-12))
SHORT = Run((2.0, 0.7, 0.02, 0.011), (5, 4, 3, 3), (3.0, 0.4, 0.02, 0.01))


def _followed(**changed):
    losses = {"uniform": 0.02, "dx": 0.03, "plain": 0.5}
    full = {
        basis: tuple((2.0 * size / count**0.5, size / count) for count in least_squares.GRID)
        for basis, size in (("uniform", 1.0), ("dx", 2.0), ("plain", 3.0), ("uniform, size 1", 0.5))
    }
    late = Run((2.0, 0.5, 0.03, 1e-3, 2e-5), (5, 5, 3, 4, 4), (3.0, 0.2, 0.01, 1e-4, 1e-5))
    runs = {"uniform": RUN, "dx": late, "plain": SHORT, "uniform, size 1": replace(RUN, ranks=(9, 4, 4, 4, 4, 4))}
    runs |= {"tau 0.5": replace(SHORT, ranks=(5, 3, 2, 2)), "weak target": replace(SHORT, ranks=(4, 3, 3, 3))}
    medians = {"uniform": (5.0, 4.0), "dx": (5.0, 4.5), "plain": (5.0, 3.0), "uniform, size 1": (8.5, 4.0)}
    found = least_squares.Followed(runs, medians, losses, 2e-9, full)
    return replace(found, **changed)


def _errors(**changed):
    more = {2: RUN, 32: replace(RUN, ranks=(5, 4, 4, 4, 4, 4), distances=(2.0, 1e-3, 1.2e-5, 1e-6))}
    return replace(sec_4_1.Errors(_followed(), more, 3e-10), **changed)


def ranks_of_the_homogeneous_test():
    yield from forms_shown(sec_4_1.claim_hom_rank, _errors())
    low = {32: replace(RUN, ranks=(5, 4, 3, 3, 4, 4))}
    yield from forms_shown(sec_4_1.claim_hom_rank, _errors(more=low, away=3e-8))


def errors_of_the_homogeneous_test():
    yield from forms_shown(sec_4_1.claim_hom_error, _errors())
    yield from forms_shown(sec_4_1.claim_hom_error, _errors(more={32: SHORT}, away=3e-8))


def steps_of_the_homogeneous_test():
    smoothness = {
        "uniform": {1: 4.0, 32: 4.6},
        "dx": {1: 1.0, 32: 1.3},
        "plain": {1: 0.8, 32: 1.1},
        "plain, by region": {32: 5.0},
    }
    yield from forms_shown(sec_4_1.claim_hom_stepsize, smoothness)
    yield from forms_shown(sec_4_1.claim_hom_stepsize, {name: {1: 25 / 6} for name in smoothness})


def clients_of_the_homogeneous_test():
    one = sec_4_1.Counts("uniform", 1e-2, 100.0, {"simplified": 103.0, "full": 101.0}, 2e-9)
    two = sec_4_1.Counts("dx", 0.1, 1000.0, {"simplified": 999.0, "full": 1000.0}, 2e-8)
    yield from forms_shown(sec_4_1.claim_hom_clients, [one])
    yield from forms_shown(sec_4_1.claim_hom_clients, [one, two])


def speed_in_the_homogeneous_test():
    yield from forms_shown(sec_4_1.claim_hom_10x, _followed())
    slow = {"uniform": tuple((0.1 if count < 40 else 1e-6, 0.0) for count in least_squares.GRID)}
    yield from forms_shown(sec_4_1.claim_hom_10x, _followed(full=dict.fromkeys(_followed().full, slow["uniform"])))


def figure_4_on_invented_runs():
    yield from forms_shown(fig_4.fig_4, _followed())
    near = dict.fromkeys(_followed().full, tuple((1e-4, 1e-6) for _ in least_squares.GRID))
    yield from forms_shown(fig_4.fig_4, _followed(full=near))


def settings_of_the_homogeneous_test():
    shifted = {
        (basis, samples): sec_4_1.Setting(distance, curvature)
        for basis, curvature in (("uniform", 0.9), ("dx", 1e-6), ("plain", 1e-3))
        for samples, distance in ((10_000, 2e-7), (300, float("inf")))
    }
    yield from forms_shown(sec_4_1.exp_homogeneous, shifted)


def distances_of_low_rank_runs():
    one = full_rank_distance.Beside(0.3, 2e-3, 0.05, 1.5, 1e-3, 0.02, 3, 2.0, 4)
    for run in (one, replace(one, steps=1), replace(one, rounds=1), replace(one, cut=0.0, normal=0.2)):
        yield [run.bound(*weights) for weights in ((1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    hand = {"rate": "1/100", "rounds": 300, "eta": "1/10000", "constant": 10}
    runs = [one, replace(one, distance=1e-9, off_rank=0.0), replace(one, distance=40.0, steps=1, by_hand=hand)]
    yield from forms_shown(full_rank_distance.claim_close, runs)


def limits_of_truncated_runs():
    one = thm_3.Limit(1e-6, 0.2, 3.0, (0.1, 0.05), 0.1, True)
    runs = [
        one,
        replace(one, projected=4e-4, whole=0.1, witness=thm_3.STUCK),
        replace(one, corrected=False, projected=0.5),
        replace(one, lost=(0.05, 0.11), whole=0.1003, witness=thm_3.STUCK),
    ]
    for count in (1, 2, 3, 4):
        yield from forms_shown(thm_3.claim_thm3_text, runs[:count])
