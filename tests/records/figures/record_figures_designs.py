"""Designs of FedLoRU's experiments at every scale: lines, options, rounds, seeds, rates, ranks and data sets."""

import tempfile
from pathlib import Path

from own_sizes import told

from algorithms.kernels import CONVOLUTIONS
from figures.curves import learning_curves_runs as learning
from figures.fedloru import designs, fig1, fig4, paper_scale, scales, trained_ranks
from figures.figure import SCALES, Settings
from workloads.data.datasets import REGISTRY


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
        yield from told(_with_data(design, scale))


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
        yield from (*told(choosing), *told(design))
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
        yield from told(_with_data(paper_scale.design, scale))
        yield from (text for one in _with_data(paper_scale.printed_design, scale) for text in told(one))


def federations_of_stable_ranks():
    for scale in SCALES:
        yield from told(_with_data(trained_ranks.federations, scale))
    yield trained_ranks.RANK_SIZES


def fine_tuning():
    for scale in SCALES:
        made = fig4.design(Settings(scale))
        yield from (text for one in (made, *fig4.by_loss(made)) for text in told(one))
