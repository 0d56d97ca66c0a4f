"""Records of two rounds of every method on a small network: metrics, messages, models and what clients keep."""

from dataclasses import replace

from recording import refused
from small_clients import LAYERS, Problem, clients, digest, numbers, start

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.fed_sb import FedSB
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedlora import FedLoRA
from algorithms.fedloru import FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara, PersonalFedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.lora_fair import LoRAFair
from algorithms.low_rank import Truncation
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import AdamW, Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rbla import RBLA
from algorithms.rolora import RoLoRA
from algorithms.rounds import rounds
from algorithms.scaffold import Scaffold
from algorithms.schedules import Step
from algorithms.tree import Tree

LOCAL, TWO = Descent(1, 0.3, 2), Descent(2, 0.3, 2)
KEPT = Descent(1, 0.3, 2, optimiser=Sgd(0.5), optimiser_state="personal")
ADAPTER, FIRST = Adapter(2, 1.5, layers=LAYERS), Adapter(2, 0.5, seed=3, layers="first")


def _run(algorithm, problem=None, cohort=2, number=2, **options):
    problem = problem or Problem(shares=(3.0, 1.0, 2.0))
    steps = list(rounds(algorithm, problem, rounds=number, cohort=cohort, seed=2, evaluate_every=number, **options))
    last = steps[-1]
    fed = Federation(problem.clients, shares=problem.shares, state=last.state.federation)
    own = (
        [digest(algorithm.personal_weights(fed, last.state.algorithm, client)) for client in (0, 1, 2)]
        if hasattr(algorithm, "personal_weights")
        else []
    )
    sent = [
        f"{one.round}.{one.trip} {one.direction} {one.what}: {one.clients}, {one.entries}"
        for one in last.ledger.entries
    ]
    merged = algorithm.merged_rank(last.state.algorithm, "first.weight") if hasattr(algorithm, "merged_rank") else None
    kept = [[number, *values] for number, values in sorted(last.state.federation.personal.items()) if values]
    return [str(step) for step in steps[1:]], sent, digest(algorithm.weights(last.state.algorithm)), own, merged, kept


def averaging():
    yield _run(FedAvg(LOCAL)), _run(FedAvg(KEPT)), _run(FedProx(LOCAL, 0.5)), _run(FedProx(LOCAL))


def corrected_descents():
    yield (
        _run(FedLin(TWO)),
        _run(FedLin(Descent(2, 0.3, 2), True)),
        _run(FedLin(Descent(2, Step(0.4, 1, 0.5)), as_printed=True)),
    )


def control_variates():
    yield (
        _run(Scaffold(TWO)),
        _run(Scaffold(TWO, 0.5, "gradient")),
        _run(Scaffold(Descent(2, Step(0.4, 1, 0.5, "step")), 2.0), cohort=None),
    )
    yield _run(Scaffold(LOCAL, 0.5), Problem(clients(statistics=frozenset({"seen"})), start=start(observed=True)))


def separate_averages_of_factors():
    yield (
        _run(FedLoRA(LOCAL, ADAPTER)),
        _run(FedLoRA(LOCAL, Adapter(1, a_at="inputs", layers=LAYERS, b_rate=4.0))),
        _run(FedLoRA(KEPT, Adapter(2, layers="first", rest="frozen"))),
    )


def _through_layers(*algorithms):
    for algorithm in algorithms:
        for problem in (Problem(clients(takes_values=True)), Problem()):
            yield str(list(rounds(algorithm, problem, rounds=1, cohort=1, seed=2))[-1])


def factors_through_layers():
    yield _through_layers(FedLoRA(LOCAL, ADAPTER), FeDLRT(LOCAL, 1, layers=LAYERS), FedHM(LOCAL, 1, layers=LAYERS))


def pairs_through_layers():
    personal = PersonalFedLoRU(LOCAL, ADAPTER, tau=1, personal=LOCAL, personal_adapter=FIRST)
    yield _through_layers(FineTuneFedLoRU(LOCAL, ADAPTER, tau=1), personal)


def accumulated_updates():
    for restart in ("random", "momentum", "keep A"):
        yield _run(FedLoRU(LOCAL, ADAPTER, 1, restart))


def accumulated_updates_with_momentum():
    for restart in ("random", "momentum"):
        yield _run(FedLoRU(KEPT, FIRST, tau=2, restart=restart), number=3)


def stored_pairs():
    yield (
        _run(FineTuneFedLoRU(LOCAL, ADAPTER, tau=1)),
        _run(FineTuneFedLoRU(LOCAL, FIRST, tau=2, restart="momentum"), number=3),
    )


def alternating_factors():
    yield _run(RoLoRA(LOCAL, ADAPTER)), _run(RoLoRA(LOCAL, ADAPTER), cohort=None)
    yield len(RoLoRA(LOCAL, ADAPTER).descents), len(RoLoRA(LOCAL, ADAPTER, True).descents)


def one_factor_frozen():
    yield _run(RoLoRA(KEPT, FIRST, True)), _run(FFALoRA(LOCAL, ADAPTER)), _run(FFALoRA(KEPT, FIRST), cohort=None)


def alternating_factors_with_momentum():
    yield _run(RoLoRA(replace(KEPT, learning_rate=0.05), ADAPTER), number=3)


def alternating_factors_with_a_frozen_rest():
    yield _run(RoLoRA(LOCAL, Adapter(1, layers="first", rest="frozen")), cohort=None)


def residuals_of_averages():
    yield (
        _run(FedExLoRA(LOCAL, ADAPTER)),
        _run(FedExLoRA(LOCAL, ADAPTER, "dense")),
        _run(FedExLoRA(LOCAL, FIRST, residual_rank=1)),
        _run(FedExLoRA(LOCAL, ADAPTER), cohort=1),
        _run(FedExLoRA(LOCAL, ADAPTER, residual_rank=9)),
    )


def stacked_factors():
    yield (
        _run(FLoRA(LOCAL, ADAPTER)),
        _run(FLoRA(LOCAL, FIRST, (1, 2, 3))),
        _run(FLoRA(Descent(2, 0.3), Adapter(1, layers="first", rest="frozen"), (2, 1, 1)), cohort=None),
    )


def truncated_averages_of_products():
    for split in ("balanced", "left", "right"):
        yield _run(FlexLoRA(LOCAL, ADAPTER, split))
    yield _run(FlexLoRA(LOCAL, FIRST, ranks=(1, 2, 1)))


def averages_of_the_columns_that_clients_have():
    yield (
        _run(RBLA(LOCAL, ADAPTER, (1, 2, 1))),
        _run(RBLA(LOCAL, ADAPTER)),
        _run(RBLA(LOCAL, Adapter(3, layers="first"), (1, 2, 1)), cohort=None),
    )


def padded_factors():
    yield (
        _run(HetLoRA(LOCAL, ADAPTER, (1, 2, 2))),
        _run(HetLoRA(LOCAL, ADAPTER, (2, 1, 2), 1.0)),
        _run(HetLoRA(LOCAL, FIRST, weighting="shares")),
    )


def pruned_factors():
    local = Descent(2, 0.1, optimiser=AdamW())
    for options in ({"decay": 0.5, "penalty": 30.0}, {"decay": 0.6, "penalty": 0.0}):
        steps = list(
            rounds(HetLoRA(local, Adapter(3, layers="first"), (1, 3, 2), **options), Problem(), rounds=2, seed=1)
        )
        yield [step.state.algorithm.ranks for step in steps], str(steps[-1]), digest(steps[-1].state.algorithm.factors)


def personal_factors():
    yield (
        _run(FedSALoRA(LOCAL, ADAPTER)),
        _run(FedSALoRA(KEPT, ADAPTER, True)),
        _run(FedSALoRA(LOCAL, Adapter(1, layers="first", rest="frozen"))),
    )


def corrections_of_the_mean():
    for options in (
        {"server_steps": 3},
        {"server_steps": 2, "penalty": "squared", "server_rate": 0.5},
        {"server_steps": 2, "penalty_weight": 10.0},
    ):
        yield _run(LoRAFair(LOCAL, ADAPTER, **options))


def changes_of_principal_factors():
    yield _run(FRLoRA(LOCAL, ADAPTER)), _run(FRLoRA(LOCAL, Adapter(1, -2.0, layers="first", rest="frozen")))


def middle_factors():
    yield _run(FedSB(LOCAL, ADAPTER, "gradient")), _run(FedSB(LOCAL, Adapter(2, 1.5, layers="second"), first_rate=0.5))
    yield _run(FedSB(LOCAL, Adapter(1, layers="first", rest="frozen"), "gradient", 0.5))


def personal_updates():
    more = Descent(1, 0.4, 2)
    yield _run(
        PersonalFedLoRU(LOCAL, ADAPTER, tau=2, personal=more, personal_adapter=Adapter(1, 3.0, seed=9, layers="first"))
    )
    yield _run(PersonalFedLoRU(KEPT, FIRST, tau=1, personal=KEPT, personal_adapter=Adapter(1, layers=LAYERS)))


def personal_factors_of_whole_weights():
    yield (
        _run(PersonalFedLoRA(TWO, Descent(1, 0.4, 2), Adapter(1, 3.0, layers="first"))),
        _run(PersonalFedLoRA(LOCAL, Descent(1, 0.3, 2), Adapter(1, 3.0, layers="first"), True)),
        _run(
            PersonalFedLoRA(Descent(epochs=1, learning_rate=0.3), Descent(epochs=2, learning_rate=0.3), ADAPTER, True)
        ),
    )


def nested_factors():
    for options in (
        {"client_ranks": (1, 2, 1)},
        {"ranks": ((1, 2), None, (2, 1)), "send_products": True},
        {"client_ranks": (1, 1, 2), "nested_scale": 2.0},
    ):
        yield _run(NestedFedLoRU(LOCAL, ADAPTER, 2, **options))


def dynamical_low_rank():
    for options in ({}, {"correction": "full"}):
        yield _run(FeDLRT(TWO, 1, truncation=Truncation(0.1), layers=LAYERS, **options))


def dynamical_low_rank_without_corrections():
    yield _run(FeDLRT(TWO, 1, correction="none", truncation=Truncation(0.1), layers=LAYERS))
    yield _run(FeDLRT(LOCAL, 1, completion="none", truncation=Truncation(0.0), layers=LAYERS))
    yield _run(FeDLRT(KEPT, 2, Truncation(0.2, "printed"), layers="first"))


def own_bases_of_clients():
    yield (
        _run(NaiveFeDLRT(TWO, 1, layers=LAYERS)),
        _run(NaiveFeDLRT(TWO, 2, Truncation(0.0, most=2), layers="first")),
        _run(NaiveFeDLRT(replace(KEPT, steps=2), 1, layers="first")),
    )


def truncated_weights():
    yield (
        _run(FedHM(LOCAL, 1, layers=LAYERS)),
        _run(FedHM(LOCAL, 1, (1, 2, 3), "first")),
        _run(FedHM(LOCAL, 9, (), LAYERS, cap=True)),
    )


def hadamard_products():
    yield (
        _run(FedPara(LOCAL, 2, LAYERS)),
        _run(FedPara(LOCAL, 1, "first", seed=4, initial="matched")),
        _run(PersonalFedPara(LOCAL, 1, LAYERS)),
        _run(PersonalFedPara(KEPT, 2, "first", initial="matched")),
    )


def alignments_of_methods():
    for algorithm in (
        FedLin(TWO),
        FedProx(LOCAL),
        Scaffold(TWO),
        FedLoRA(LOCAL, ADAPTER),
        FedLoRU(LOCAL, ADAPTER, 2),
        FRLoRA(LOCAL, ADAPTER),
        FedHM(LOCAL, 1, layers=LAYERS),
        FedPara(LOCAL, 1, LAYERS),
        FineTuneFedLoRU(LOCAL, ADAPTER, 1),
    ):
        yield (
            type(algorithm).__name__,
            [step.metrics["alignment"] for step in rounds(algorithm, Problem(), rounds=1, seed=2, aligned=True)][1],
        )
    yield refused(lambda: list(rounds(FedSALoRA(LOCAL, ADAPTER), Problem(), rounds=1, aligned=True)))


def federations_with_other_ranks():
    three = Adapter(3, layers="first")
    for algorithm in (
        FLoRA(LOCAL, three, (1, 2)),
        FlexLoRA(LOCAL, three, ranks=(1, 2)),
        HetLoRA(LOCAL, three, (1,)),
        RBLA(LOCAL, three, (1, 2)),
        NestedFedLoRU(LOCAL, three, 1, client_ranks=(1, 2)),
        FedHM(LOCAL, 1, (1, 2), "first"),
        FLoRA(LOCAL, three, (1, 2, 4)),
        FedHM(LOCAL, 1, (1, 4, 2), "first"),
        FedSB(LOCAL, Adapter(4, layers="first")),
        FRLoRA(LOCAL, Adapter(4, layers="first")),
        NestedFedLoRU(LOCAL, three, 1, client_ranks=(1, 2, 4)),
    ):
        yield (
            type(algorithm).__name__,
            refused(lambda algorithm=algorithm: [str(step) for step in rounds(algorithm, Problem(), rounds=1)]),
        )
    yield refused(FRLoRA(LOCAL, Adapter(1)).principal_factors, Tree(W=numbers(2, 3) * 0.0))
