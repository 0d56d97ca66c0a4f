"""Designs of vision, language and comparisons at every scale, and sizes of figures without runs."""

from own_sizes import told

from figures.curves import learning_curves_runs as learning
from figures.curves.method_comparison_runs import FAMILY, FASHION, LABELS, METHOD_SIZES, WHOLE, design_of
from figures.curves.method_comparison_texts import ADAPTED, SENTENCES
from figures.fedloru import fig1, fig4, language_ranks, toy
from figures.fedlrt.fig1 import FIG1_SIZES, FIRST, OTHERS
from figures.fedlrt.fig3 import FIG3_SIZES
from figures.fedlrt.fig4 import FIG4_SIZES
from figures.fedlrt.fig4 import OTHERS as OTHERS_4
from figures.fedlrt.vision_runs import VISION
from figures.figure import SCALES, Settings
from figures.hessian import alignment as hessian_alignment
from figures.hessian import covariance, edge_of_stability, predictions, spectra
from figures.language.designs import SIZES, budgets_lines, clients_lines, uplinks_lines, whole_designs
from figures.rmt import alignment, sample_size, spectrum, stable_rank, transition
from figures.rolora import aggregations, angle, ffa, mechanism
from figures.rolora.fig2 import FIG2_SIZES, trips
from figures.rolora.fig2_runs import METHODS as FIG2_METHODS
from figures.rolora.fig2_runs import whole_designs as fig2_designs


def vision():
    for name, by_scale in VISION.items():
        for scale, one in by_scale.items():
            yield name, scale, list(told(one.design))[: 12 if scale == "quick" else 8]
            yield [one.local_steps(clients) for clients in (*one.clients, 240, 300)]


def factorised_layers():
    for name, by_scale in VISION.items():
        shapes = by_scale["quick"].shapes
        yield name, by_scale["quick"].factorised, len(shapes), str(list(shapes.items())[-2:])


def language_models():
    for lines_of in (clients_lines, budgets_lines, uplinks_lines):
        for scale in ("quick", "laptop"):
            for one in whole_designs(lines_of, Settings(scale)):
                lines = list(told(one))
                yield [*lines[:5], lines[-1]]


def layers_of_budgets():
    for scale, sizes in SIZES.items():
        yield scale, {budget: sizes.layers(budget) for budget in ("P1", "P2", "U")}
        yield [[name, str(getattr(sizes, name))] for name in sizes.__dataclass_fields__]


def two_layer_network():
    for scale in SCALES:
        for one in fig2_designs(FIG2_SIZES[scale]):
            yield from list(told(one))[:4]
    yield {method: trips(method) for method in FIG2_METHODS}


def comparison_of_methods():
    for scale in SCALES:
        lines = list(told(design_of(Settings(scale))))
        yield lines if scale == "quick" else [*lines[:2], *(line.partition(" (")[0] for line in lines[2:])]
    yield LABELS, FAMILY, " ".join(WHOLE), [METHOD_SIZES[scale].measured for scale in SCALES]


def comparison_on_sentences():
    for scale in SCALES:
        yield list(told(design_of(Settings(scale), SENTENCES)))[: 9 if scale == "quick" else 6]
        yield SENTENCES.sizes[scale].measured, SENTENCES.sizes[scale].tau
    yield " ".join(ADAPTED), FASHION.divided, SENTENCES.divided


def learning_curves():
    for scale, sizes in learning.CURVE_SIZES.items():
        yield scale, [[name, str(getattr(sizes, name))] for name in sizes.__dataclass_fields__]
        yield [sorted(one.items()) for one in learning.first_rates(sizes)][:1]
        case = learning.Case("mnist", "IID", sizes.splits["IID"])
        for method in learning.METHODS:
            options = learning.options_of(method, sizes, case, 0.25)
            own = {name: value for name, value in options.items() if name not in sizes.federation}
            yield f"{method.label}: {method.algorithm} {method.metric} {own}"
    short = learning.rate_experiment(Settings(seed=2), sizes, [case], {"FedAvg": 0.5, "RoLoRA": 2.0}, 1)
    yield [[trial.label, trial.rounds, trial.seeds, str(trial.settings)] for trial in short.trials]


def sizes_without_runs():
    for by_scale in (
        *(FIG1_SIZES, FIG3_SIZES, FIG4_SIZES, fig1.FIG1_SIZES, fig4.SIZES, language_ranks.LAYER_SIZES, toy.TOY_SIZES),
        *(hessian_alignment.ALIGNMENT_SIZES, covariance.COVARIANCE_SIZES, edge_of_stability.EDGE_SIZES),
        *(predictions.PREDICTION_SIZES, spectra.SAMPLE_SIZES, alignment.ALIGNMENT_SIZES, sample_size.SAMPLE_SIZE_SIZES),
        *(spectrum.SPECTRUM_SIZES, stable_rank.STABLE_RANK_SIZES, transition.TRANSITION_SIZES),
        *(aggregations.AGGREGATION_SIZES, angle.ANGLE_SIZES, ffa.FFA_SIZES, mechanism.MECHANISM_SIZES),
    ):
        yield [f"{scale}: {str(sizes)[:900]}" for scale, sizes in by_scale.items()]
    yield [str(reading) for reading in (FIRST, *OTHERS, *OTHERS_4)]
    yield [[one.few, one.most] for one in mechanism.MECHANISM_SIZES.values()]
    yield [[of.model, of.server] for every in language_ranks.LAYER_SIZES.values() for of in every]
