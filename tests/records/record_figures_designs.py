"""Designs of experiments at every scale: lines, algorithms, options, rounds, seeds, rates; and sizes without runs."""

import tempfile
from collections import Counter
from pathlib import Path

from algorithms.kernels import CONVOLUTIONS
from figures.curves import learning_curves_runs as learning
from figures.curves.method_comparison_runs import FAMILY, FASHION, LABELS, METHOD_SIZES, WHOLE, design_of
from figures.curves.method_comparison_texts import ADAPTED, SENTENCES
from figures.fedlrt.fig1 import FIG1_SIZES, FIRST, OTHERS
from figures.fedlrt.fig3 import FIG3_SIZES
from figures.fedlrt.fig4 import FIG4_SIZES
from figures.fedlrt.fig4 import OTHERS as OTHERS_4
from figures.fedlrt.vision_runs import VISION
from figures.fedloru import designs, fig1, fig4, language_ranks, paper_scale, scales, toy, trained_ranks
from figures.figure import SCALES, Settings
from figures.hessian import alignment as hessian_alignment
from figures.hessian import covariance, edge_of_stability, predictions, spectra
from figures.language.designs import SIZES, budgets_lines, clients_lines, uplinks_lines, whole_designs
from figures.rmt import alignment, sample_size, spectrum, stable_rank, transition
from figures.rolora import aggregations, angle, ffa, mechanism
from figures.rolora.fig2 import FIG2_SIZES, trips
from figures.rolora.fig2_runs import METHODS as FIG2_METHODS
from figures.rolora.fig2_runs import whole_designs as fig2_designs
from workloads.data.datasets import REGISTRY


def _told(design):
    """Numbers of a design, options that all lines share, and every line with its other ones."""
    held = Counter(str(entry) for line in design.lines for entry in line.options.items())
    common = {text for text, count in held.items() if count == len(design.lines)}
    yield f"{design.rounds} rounds, {design.seeds} seeds, {design.rates}, {design.tuning_rounds}, {design.runs} runs"
    yield " ".join(text for text in map(str, design.lines[0].options.items()) if text in common)
    for line in design.lines:
        own = " ".join(text for text in map(str, line.options.items()) if text not in common)
        yield f"{line.label}: {line.algorithm} {line.problem} {line.metric} {line.rate_of!r} {line.tuned} {own}"


def _with_data(use, scale):
    """Result of a function of settings where all image sets have files, which are empty."""
    with tempfile.TemporaryDirectory() as root:
        for known in REGISTRY.values():
            folder = known.under(Path(root))
            folder.mkdir(parents=True, exist_ok=True)
            for name in known.md5:
                (folder / name).touch()
        return use(Settings(scale, data_root=root))


def _fedloru(design, *some):
    for scale in some:
        yield from _told(_with_data(design, scale))


def four_methods_by_size():
    return _fedloru(designs.tab1_design, "quick", "laptop"), list(_fedloru(designs.tab1_design, "paper"))[::7]


def growing_numbers_of_clients():
    return _fedloru(designs.tab6_design, "quick", "paper")


def a_tenth_of_the_clients():
    return _fedloru(designs.tab7_design, *SCALES)


def personal_models():
    return _fedloru(designs.tab3_design, *SCALES)


def clients_of_different_ranks():
    return _fedloru(designs.tab4_design, *SCALES)


def restarts_and_periods():
    return _fedloru(designs.restarts_design, *SCALES)


def alignment_of_updates():
    for scale in SCALES:
        choosing, design = _with_data(designs.fig8_designs, scale)
        yield from (*_told(choosing), *_told(design))
        rates = {line.rate_of: 0.5 + place for place, line in enumerate(design.lines)}
        yield [line.options["learning_rate"] for line in designs.with_rates(design, rates).lines]


def choices_of_data():
    for printed in (("fashion-mnist",), ("cifar-10", "cifar-100"), ("fashion-mnist", "cifar-10")):
        yield [_with_data(lambda settings, printed=printed: designs.choice_of(settings, printed), s) for s in SCALES]
    yield [_with_data(fig1.fig1_choice, scale) for scale in SCALES]
    yield [_with_data(learning.curves_choice, scale) for scale in SCALES]


def counted_parameters():
    for network in (("resnet10", 8, "fashion-mnist"), ("perceptron", 16, "cifar-10"), ("resnet18", 8, "cifar-100")):
        ranks = (1, 8, 16, 500)
        yield network, designs.parameters(network), [designs.parameters(network, rank) for rank in ranks]
        yield [designs.parameters(network, rank, CONVOLUTIONS[1]) for rank in ranks[:3]]
        yield [designs.matched_rank(network, rank) for rank in ranks[:3]], designs.share(network, 16)


def ranks_by_width():
    for scale, sizes in scales.SIZES.items():
        yield scale, [sizes.rank(size) for size in ("large", "medium", "small")]
        yield [designs.network_of(sizes, data) for data in ("fashion-mnist", "cifar-10")], scales.ALIGNED[scale]
        yield [[name, str(getattr(sizes, name))] for name in sizes.__dataclass_fields__]
    yield [f"{one.name}: {one.value} ({one.source})" for one in designs.LEFT_OUT]


def runs_at_the_papers_scale():
    for scale in SCALES:
        yield from _told(_with_data(paper_scale.design, scale))
        yield from (text for one in _with_data(paper_scale.printed_design, scale) for text in _told(one))


def federations_of_stable_ranks():
    for scale in SCALES:
        yield from _told(_with_data(trained_ranks.federations, scale))
    yield trained_ranks.RANK_SIZES


def fine_tuning():
    for scale in SCALES:
        made = fig4.design(Settings(scale))
        yield from (text for one in (made, *fig4.by_loss(made)) for text in _told(one))


def vision():
    for name, by_scale in VISION.items():
        for scale, one in by_scale.items():
            yield name, scale, list(_told(one.design))[: 12 if scale == "quick" else 8]
            yield [one.local_steps(clients) for clients in (*one.clients, 240, 300)]


def factorised_layers():
    for name, by_scale in VISION.items():
        shapes = by_scale["quick"].shapes
        yield name, by_scale["quick"].factorised, len(shapes), str(list(shapes.items())[-2:])


def language_models():
    for lines in (clients_lines, budgets_lines, uplinks_lines):
        for scale in ("quick", "laptop"):
            for one in whole_designs(lines, Settings(scale)):
                told = list(_told(one))
                yield [*told[:5], told[-1]]


def layers_of_budgets():
    for scale, sizes in SIZES.items():
        yield scale, {budget: sizes.layers(budget) for budget in ("P1", "P2", "U")}
        yield [[name, str(getattr(sizes, name))] for name in sizes.__dataclass_fields__]


def two_layer_network():
    for scale in SCALES:
        for one in fig2_designs(FIG2_SIZES[scale]):
            yield from list(_told(one))[:4]
    yield {method: trips(method) for method in FIG2_METHODS}


def comparison_of_methods():
    for scale in SCALES:
        told = list(_told(design_of(Settings(scale))))
        yield told if scale == "quick" else [*told[:2], *(line.partition(" (")[0] for line in told[2:])]
    yield LABELS, FAMILY, " ".join(WHOLE), [METHOD_SIZES[scale].measured for scale in SCALES]


def comparison_on_sentences():
    for scale in SCALES:
        yield list(_told(design_of(Settings(scale), SENTENCES)))[: 9 if scale == "quick" else 6]
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
