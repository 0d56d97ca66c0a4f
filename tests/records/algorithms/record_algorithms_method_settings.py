"""Records of settings of methods that are refused, joint steps, and learning rates of zero."""

from recording import refused
from small_clients import clients, digest, start

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.exchange import Memory
from algorithms.fed_sb import FedSB
from algorithms.federation import Federation
from algorithms.fedex_lora import FedExLoRA
from algorithms.fedhm import FedHM
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.fedpara import FedPara
from algorithms.fedprox import FedProx
from algorithms.fedsa_lora import FedSALoRA
from algorithms.flexlora import FlexLoRA
from algorithms.flora import FLoRA
from algorithms.frlora import FRLoRA
from algorithms.hetlora import HetLoRA
from algorithms.local_training import train_alone
from algorithms.lora_fair import LoRAFair
from algorithms.mfedloru import NestedFedLoRU
from algorithms.optimisers import Sgd
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU, pair
from algorithms.rbla import RBLA
from algorithms.rounds import one_round
from algorithms.scaffold import Scaffold
from algorithms.schedules import Cosine, Linear
from algorithms.schedules import Step as Steps

LOCAL, KEPT, ONE = Descent(), Descent(optimiser=Sgd(0.5), optimiser_state="personal"), Adapter(2)


def settings_of_methods_that_are_refused():
    for make in (
        lambda: FedSB(LOCAL, ONE, "x"),
        lambda: FedSB(LOCAL, ONE, first_rate=0.0),
        lambda: FedSB(LOCAL, ONE, first_rate=float("inf")),
        lambda: FedSB(LOCAL, ONE, first_rate=1e-9),
        lambda: FedExLoRA(LOCAL, ONE, "x"),
        lambda: FedExLoRA(LOCAL, ONE, residual_rank=0),
        lambda: FedExLoRA(LOCAL, ONE, "dense", 1),
        lambda: FedHM(KEPT, 1),
        lambda: FlexLoRA(KEPT, ONE),
        lambda: FLoRA(KEPT, ONE),
        lambda: FRLoRA(KEPT, ONE),
        lambda: FedLin(Descent(clip=1.0), True),
        lambda: FedLin(Descent(optimiser=Sgd()), True),
        lambda: FedLin(Descent(learning_rate=Steps(1.0, 1, per="step")), True),
        lambda: FedLin(Descent(learning_rate=Steps(1.0, 1)), True),
        lambda: FedLin(Descent(clip=1.0)),
        lambda: FedLoRU(LOCAL, ONE, 0),
        lambda: FedLoRU(LOCAL, ONE, 1, "x"),
        lambda: FeDLRT(LOCAL, 1, correction="x"),
        lambda: FeDLRT(LOCAL, 1, completion="x"),
        lambda: FedPara(LOCAL, 0),
        lambda: FedPara(LOCAL, 1, seed=-1),
        lambda: FedPara(LOCAL, 1, initial="x"),
        lambda: FedProx(LOCAL, -0.1),
        lambda: FedProx(LOCAL, float("inf")),
        lambda: FedProx(LOCAL, 0.0),
    ):
        yield str(refused(make)).partition("(")[0] if not isinstance(refused(make), str) else refused(make)


def more_settings_of_methods_that_are_refused():
    frozen = Adapter(2, rest="frozen")
    for make in (
        lambda: FedSALoRA(LOCAL, frozen, True),
        lambda: FedSALoRA(LOCAL, frozen),
        lambda: FlexLoRA(LOCAL, ONE, "x"),
        lambda: FlexLoRA(LOCAL, ONE, ranks=(1, 3)),
        lambda: RBLA(LOCAL, ONE, (0, 1)),
        lambda: HetLoRA(LOCAL, ONE, (3,)),
        lambda: HetLoRA(LOCAL, ONE, decay=0.0),
        lambda: HetLoRA(LOCAL, ONE, decay=1.1),
        lambda: HetLoRA(LOCAL, ONE, penalty=-0.1),
        lambda: HetLoRA(LOCAL, ONE, penalty=float("inf")),
        lambda: HetLoRA(LOCAL, ONE, weighting="x"),
        lambda: HetLoRA(KEPT, ONE),
        lambda: HetLoRA(KEPT, ONE, decay=1.0),
        lambda: LoRAFair(LOCAL, ONE, server_steps=0),
        lambda: LoRAFair(LOCAL, ONE, penalty="x"),
        lambda: LoRAFair(LOCAL, ONE, penalty_weight=-1.0),
        lambda: LoRAFair(LOCAL, ONE, server_rate=0.0),
        lambda: LoRAFair(LOCAL, ONE, 0.0),
        lambda: LoRAFair(LOCAL, ONE, float("inf")),
        lambda: NestedFedLoRU(KEPT, ONE, 1),
        lambda: PersonalFedLoRA(LOCAL, LOCAL, frozen),
        lambda: PersonalFedLoRA(LOCAL, Descent(learning_rate=0.5), ONE, True),
        lambda: PersonalFedLoRA(LOCAL, Descent(epochs=1), ONE, True),
        lambda: PersonalFedLoRA(LOCAL, Descent(epochs=1), ONE),
        lambda: PersonalFedLoRU(LOCAL, ONE, tau=1, personal_adapter=frozen),
        lambda: PersonalFedLoRU(LOCAL, frozen, tau=1, personal_adapter=frozen),
        lambda: PersonalFedLoRU(LOCAL, frozen, tau=1),
        lambda: Scaffold(LOCAL, 0.0),
        lambda: Scaffold(LOCAL, float("inf")),
        lambda: Scaffold(LOCAL, control="x"),
        lambda: Scaffold(KEPT),
        lambda: Scaffold(Descent(clip=1.0)),
        lambda: Scaffold(KEPT, control="gradient"),
    ):
        found = refused(make)
        yield found if isinstance(found, str) else type(found).__name__


def joint_steps():
    yield (
        PersonalFedLoRA(Descent(2, 0.5, 3), Descent(4, 0.5, 3), ONE).together(),
        PersonalFedLoRA(Descent(epochs=2), Descent(epochs=3), ONE).together(),
    )
    yield (
        PersonalFedLoRA(LOCAL, KEPT, ONE).descents,
        PersonalFedLoRU(LOCAL, ONE, 1, personal=KEPT).descents,
        pair(None, None),
        pair(1, 2),
        refused(pair, None, 1),
        refused(pair, 1, None),
    )


def rates_of_zero():
    client, never = clients()[0], Descent(1, Cosine(1.0, 1, restart=False))
    fed = Federation(clients())
    for algorithm in (FedLin(never, True), Scaffold(never), FedLin(never)):
        state = algorithm.start(fed, start())
        fed = Federation(clients(), state=fed.state)
        state = one_round(algorithm.round, fed, state)
        yield refused(
            lambda algorithm=algorithm, state=state, fed=fed: digest(
                algorithm.weights(one_round(algorithm.round, fed, state))
            )
        )
    naive = NaiveFeDLRT(Descent(2, Linear(1.0, 1, per="step")), 1, layers="first")
    yield (
        digest(naive.weights(one_round(naive.round, Federation(clients()), naive.start(fed, start())))),
        digest(train_alone(client, Memory(personal={"w": start()}), Descent(1, 0.2)).personal),
    )
