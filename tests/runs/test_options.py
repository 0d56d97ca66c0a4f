"""Options from dataclasses: a field is written once, and options are read, refused and built from it."""

from dataclasses import MISSING, dataclass, field
from typing import Literal, Protocol

import pytest

from runs.options import OptionSchema, attribute_texts, resolve
from runs.settings import RunError


class Stepper(Protocol):
    def go(self): ...


class Rate(Protocol):
    def __call__(self, index): ...


@dataclass(frozen=True)
class Plain:
    r"""Nothing kept.

    Attributes:
        weight: $\lambda$, of the
            penalty; 5 % of all.
        nesterov: Look ahead.
    """

    weight: float = 0.0
    nesterov: bool = False


@dataclass(frozen=True)
class Moments(Plain):
    """Means kept.

    Attributes:
        betas, eps: Numbers.
    """

    weight: float = 0.25
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8


@dataclass(frozen=True)
class Falling:
    """A rate that falls.

    Attributes:
        rate: The first rate.
        period: Period of the fall.
    """

    rate: float
    period: int


@dataclass(frozen=True)
class Same:
    """A rate that stays."""

    rate: float


@dataclass(frozen=True)
class Local:
    """Steps.

    Attributes:
        steps: Number of steps.
        learning_rate: Learning rate of each step.
        optimiser: Optimiser of the steps.
    """

    steps: int = 1
    learning_rate: float | Rate = 0.5
    optimiser: Stepper = Plain()


@dataclass(frozen=True)
class Start:
    """Where it starts."""

    rank: int
    seed: int = 0


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes:
        start: Kept.
        how: Which way.
        most: At most; all by default.
    """

    local: Local
    adapter: Start
    how: Literal["left", "right"] = "left"
    most: int | None = None
    truncation: Plain = field(default_factory=Plain)
    sizes: tuple[int, ...] = ()
    personal: Local = field(default_factory=Local)
    personal_adapter: Start = field(default_factory=lambda: Start(1))
    server: Stepper | None = None


KINDS = {Stepper: {"plain": Plain, "moments": Moments}, Rate: {"same": Same, "falling": Falling}}
FORM = OptionSchema(Method, kinds=KINDS)


def test_options_are_the_fields_with_their_defaults_and_texts():
    options = FORM.options({})
    assert {name: option.default for name, option in options.items()} == {
        "steps": 1,
        "learning_rate": 0.5,
        "schedule": "constant",
        "optimiser": "plain",
        "weight": 0.0,
        "nesterov": False,
        "rank": MISSING,
        "how": "left",
        "most": None,
        "truncation_weight": 0.0,
        "truncation_nesterov": False,
        "sizes": (),
        "personal_steps": 1,
        "personal_learning_rate": 0.5,
        "personal_schedule": "constant",
        "personal_optimiser": "plain",
        "personal_weight": 0.0,
        "personal_nesterov": False,
        "personal_rank": MISSING,
        "server": None,
    }
    assert options["steps"].help == "Number of steps."
    assert options["weight"].help == "lambda, of the penalty; 5 % of all."
    assert options["how"].words == ("left", "right")
    assert options["optimiser"].words == ("plain", "moments")
    assert options["schedule"].words == ("same", "falling")
    assert options["most"].optional
    assert options["rank"].flag == "--rank"
    assert attribute_texts(Moments)["eps"] == attribute_texts(Moments)["betas"] == "Numbers."
    assert attribute_texts(Moments)["nesterov"] == "Look ahead."


def test_a_word_brings_the_options_of_what_it_chooses():
    options = FORM.options({"optimiser": "moments", "schedule": "falling"})
    assert options["weight"].default == 0.25
    assert options["betas"].default == (0.9, 0.999)
    assert options["schedule_period"].default is MISSING
    assert "schedule_rate" not in options
    assert {"betas", "schedule_period"} <= set(FORM.options({}, every=True))
    assert not {"betas", "schedule_period"} & set(FORM.options({}))


def test_values_build_the_object_and_personal_ones_follow_the_others():
    made = FORM.build(
        {
            "steps": 4,
            "rank": 3,
            "optimiser": "moments",
            "betas": (0.5, 0.6),
            "schedule": "falling",
            "learning_rate": 0.2,
            "schedule_period": 7,
            "personal_steps": 2,
            "personal_rank": 1,
            "how": "right",
        },
        seed=5,
    )
    shared = {"learning_rate": Falling(0.2, 7), "optimiser": Moments(betas=(0.5, 0.6))}
    assert made == Method(
        Local(4, **shared), Start(3, 5), "right", personal=Local(2, **shared), personal_adapter=Start(1, 6)
    )


def test_a_choice_may_be_left_open():
    assert FORM.build({"rank": 1, "personal_rank": 1}).server is None
    given = {"rank": 1, "personal_rank": 1, "server": "moments", "server_weight": 0.5}
    assert set(FORM.options(given)) - set(FORM.options({})) == {
        f"server_{n}" for n in ("weight", "nesterov", "betas", "eps")
    }
    assert FORM.build(given).server == Moments(0.5)


def test_suggested_and_fixed_values():
    form = OptionSchema(
        Method, fixed={"how": "right"}, defaults={"rank": 2, "steps": 9, "personal_rank": 1}, kinds=KINDS
    )
    assert "how" not in form.options({})
    made = form.build({})
    assert (made.how, made.adapter.rank, made.personal_adapter.rank) == ("right", 2, 1)
    assert made.local.steps == made.personal.steps == 9
    assert form.build({"steps": 3}).personal.steps == 3


def test_what_is_missing_or_unknown_is_named():
    with pytest.raises(RunError, match="rank has no default; name --rank"):
        FORM.build({})
    with pytest.raises(RunError, match="a method needs --rank"):
        resolve(FORM.options({}), {}, "a method")
    with pytest.raises(RunError, match=r"a method takes no --ranks; did you mean --rank\?"):
        resolve(FORM.options({}), {"ranks": 3}, "a method")


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("steps", "7", 7),
        ("steps", 7, 7),
        ("learning_rate", "1e-3", 1e-3),
        ("learning_rate", 1, 1.0),
        ("nesterov", "true", True),
        ("nesterov", False, False),
        ("how", "right", "right"),
        ("betas", "0.5,1", (0.5, 1.0)),
        ("betas", [0.5, 1], (0.5, 1)),
        ("most", None, None),
    ],
)
def test_values_are_read(name, given, value):
    option = FORM.options({"optimiser": "moments"})[name]
    found = option.read(given) if isinstance(given, str) else option.check(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("steps", "1.5"),
        ("steps", ""),
        ("steps", "9" * 30),
        ("steps", 1.0),
        ("steps", True),
        ("steps", None),
        ("steps", 2**63),
        ("learning_rate", "nan"),
        ("learning_rate", "inf"),
        ("learning_rate", "1e400"),
        ("learning_rate", 10**400),
        ("learning_rate", [1.0]),
        ("how", "up"),
        ("how", ""),
        ("how", 3),
        ("sizes", "8,x"),
        ("sizes", "8.5"),
        ("sizes", [8.0]),
        ("betas", "0.5;1"),
        ("betas", ["a", 1]),
        ("betas", 0.5),
        ("nesterov", "yes"),
        ("nesterov", 1),
    ],
)
def test_other_values_are_refused_with_their_name(name, given):
    option = FORM.options({"optimiser": "moments"})[name]
    with pytest.raises(RunError, match=f"^{name} must be ") as caught:
        option.read(given) if isinstance(given, str) else option.check(given)
    assert len(str(caught.value)) < 200


@dataclass(frozen=True)
class Named:
    """Something with a name."""

    name: str = "a b"


def test_a_text_is_neither_blank_nor_cut_short_by_a_zero():
    option = OptionSchema(Named).options({})["name"]
    assert option.check(" data/x ") == " data/x "
    for wrong in ("", "  ", "a\0b", "\0"):
        with pytest.raises(RunError, match=r"^name must be "):
            option.check(wrong)
