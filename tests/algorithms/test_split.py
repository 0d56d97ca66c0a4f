"""Messages divided into trained and untrained entries, and the check that uploads are finite."""

import pytest
import torch

from algorithms.adapter import AB
from algorithms.federation import Federation, FederationError, Reply
from algorithms.rounds import one_round
from algorithms.tree import Split, Tree
from algorithms.weights import Added

NAMES = frozenset({"norm.mean"})


def entries(offset):
    return Tree({"w": torch.full((2, 3), offset), "norm.mean": torch.full((2,), offset + 1.0)})


@pytest.mark.parametrize(
    "made",
    [
        entries,
        lambda k: AB(Tree(w=torch.full((2,), k)), Tree(), entries(k)),
        lambda k: (Tree({"v": Added(torch.eye(2), 0.5, torch.full((2, 1), k), torch.ones(1, 2)), **entries(k)}), {}),
    ],
)
def test_a_message_is_put_together_as_it_was(made):
    message, other = made(1.0), made(5.0)
    split = Split(message, NAMES)
    assert not any(leaf.shape == (2,) and leaf[0] == 2.0 for leaf in split.trained)
    again = Split(split.rebuild(Split(other, NAMES).trained, {"norm.mean": torch.full((2,), 7.0)}))
    expected = Split(other)
    assert again.form == expected.form
    for found, leaf in zip(again.trained, expected.trained, strict=True):
        assert torch.equal(found, torch.full((2,), 7.0) if float(leaf.reshape(-1)[0]) == 6.0 else leaf)
    own = split.rebuild(split.trained)
    assert all(torch.equal(a, b) for a, b in zip(Split(own).trained, Split(message).trained, strict=True))


def test_a_part_may_have_or_lack_what_is_not_trained():
    split = Split(entries(0.0), NAMES)
    for message in (entries(3.0), entries(3.0).but(NAMES)):
        assert [float(leaf.sum()) for leaf in split.part(message)] == [18.0]
    with pytest.raises(ValueError, match="Node"):
        split.part(Tree(v=torch.ones(2, 3)))


class Sender:
    samples = 1

    def __init__(self, sent):
        self.sent = sent


def send(client, memory):
    return Reply(upload=client.sent)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("wrong", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("place", [0, 37, 99])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(dtype, wrong, place):
    bad = torch.linspace(-3, 3, 100).to(dtype)
    bad[place] = wrong
    good = {"a": torch.ones(100, dtype=dtype), "b": torch.zeros(3), "none": torch.zeros(0)}
    fed = Federation([Sender(good), Sender({**good, "a": bad})])
    with pytest.raises(FederationError, match="client 1: send returned non-finite numbers"):
        one_round(lambda fed, cohort, state: fed.gather(send, to=cohort), fed, None)
