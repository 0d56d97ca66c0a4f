"""The executor whose clients are silos: each exchange sends a message to every silo of the cohort and takes its answer.

Answers are checked before they are used, and added up in the order of the cohort as in one process, which gives the
same bits. The state of silos stays with them; the server holds its tokens.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from algorithms.federation import Acknowledgement, Exchange, Executor, FederationError, InterruptedWorkError, Reply
from algorithms.partial_sums import Form, flatten, fold
from runs.silos.client_store import TOKEN
from runs.silos.expected import ExpectedUpload, Rehearsal, ZeroLossClient, describe_misfit
from runs.silos.membership import Membership, failure_text
from runs.silos.norms import (
    FAR,
    NormComparison,
    compare_norms,
    largest_norm,
    largest_number,
    largest_squarable,
    norm_of,
    sent_norm,
)
from runs.silos.problem import local_loss
from runs.silos.registered import answered_kinds, describe_draw, sent_kinds, work_name
from runs.silos.transport import AnswerPolicy, ClientFacts, Transport
from runs.silos.wire import Limits, Message, MessageError, Packed, pack, printable, read, to_json, unpack

SLACK, SLACK_EACH = 1 << 16, 1 << 9
"""Bytes that an upload may have beyond its numbers, and for each tensor, which has a name, a type and a shape."""
KEPT_NAMES, NAME = 64, 200
"""Largest number of values that a client keeps, and of characters in the name of one."""
LINE = 2000
"""Largest number of characters of a line in the log."""
ATTEMPTS = 6
"""Number of attempts in an exchange after which a connected silo without an answer counts as missing."""


class _Request(NamedTuple):
    """A request that waits for its answer: its client, and the fields that the answer repeats."""

    number: int
    node: int
    echo: Mapping[str, Any]


class Silos(Executor):
    """The executor that asks silos.

    Attributes:
        names: Names of the silos; a silo's place among them is its client's number.
        say: Called with a line on each event.
        again: Command that resumes a run, in words.
        bytes_sent: Bytes sent in messages, of texts and tensors.
        bytes_received: Bytes received in answers, likewise.

    Raises:
        FederationError: The names are not valid, or there are fewer silos than needed.
    """

    def __init__(
        self,
        names: Sequence[str],
        line: Transport,
        run: str,
        patience: AnswerPolicy | None = None,
        limits: Limits | None = None,
        say: Callable[[str], None] = lambda text: None,
        pause: float = 0.5,
    ) -> None:
        """Store the arguments; nobody is asked yet.

        Args:
            names: Names of the silos.
            line: Line to the silos.
            run: Name under which silos keep what belongs to this run, hexadecimal digits.
            patience: Policy for missing and wrong answers; default: `AnswerPolicy()`.
            limits: Limits of answers.
            say: Called with a line on each event.
            pause: Seconds between looks for answers.
        """
        if not names or len(set(names)) != len(names) or not all(map(str.strip, names)):
            raise FederationError(f"silos need distinct names, got {', '.join(names) or 'none'}")
        if patience is not None and (patience.least or 0) > len(names):
            raise FederationError(f"least must be at most {len(names)}, the number of silos, got {patience.least}")
        self.names, self.say = tuple(names), say
        self.again = "the `flwr run` command that began it"
        self.bytes_sent = self.bytes_received = 0
        self._line, self._run, self._pause = line, run, pause
        self._patience, self._limits = patience or AnswerPolicy(), limits or Limits()
        self._roll = Membership(self.names, line, self._limits, lambda text: self.say(printable(text, LINE)))
        self._known: dict[tuple[int, int], set[str]] = {}
        self._packed: dict[tuple[str, str], tuple[Any, Packed, str]] = {}
        self._suspects: dict[str, str] = {}
        self._missed: tuple[int, set[int]] = (0, set())
        self._unreached: set[int] = set()
        self._sent: tuple[int, dict[int, float]] = (0, {})
        self._earlier: dict[str, dict[int, float]] = {}
        self._rehearsal: Rehearsal | None = None

    def replies(self, trip: Exchange) -> Iterator[Reply]:
        """Yield one reply for each client of the cohort, in its order.

        Raises:
            FederationError: A silo is missing, or sent what is refused.
        """
        found = self._exchange(trip)
        missing = [number for number in trip.cohort if number not in found]
        if missing:
            raise InterruptedWorkError(
                f"no answer from {self._format_names(missing)}, and this exchange needs every silo of its cohort"
            )
        return (found[number] for number in trip.cohort)

    def sum(self, trip: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum of share times upload; the shares of missing silos go to the others in proportion.

        Raises:
            FederationError: Too few silos answered, or one sent what is refused.
        """
        found = self._exchange(trip)
        there = [(number, share) for number, share in zip(trip.cohort, shares, strict=True) if number in found]
        if len(there) < len(trip.cohort):
            total = sum(share for _, share in there)
            if not total > 0.0:
                raise FederationError("the shares of the silos that answered have sum 0")
            there = [(number, share / total) for number, share in there]
        answered = replace(trip, cohort=tuple(number for number, _ in there))
        return fold(answered, (found.pop(number) for number in answered.cohort), [share for _, share in there])

    def absent(self, round: int) -> Collection[int]:
        """Return the clients that are not asked in the rest of a round: they are left out, or missed an exchange."""
        return self._roll.left_out.keys() | (self._missed[1] if self._missed[0] == round else set())

    def unreached(self) -> Collection[int]:
        """Return the clients of the last exchange to which no request went."""
        return self._unreached

    @property
    def left_out(self) -> Mapping[str, str]:
        """Reasons why silos are left out of the rest of the run, by name."""
        return {self.names[number]: why for number, why in self._roll.left_out.items()}

    @property
    def suspects(self) -> Mapping[str, str]:
        """Silos whose uploads may have spoilt the model, by name, with a description of the upload."""
        return dict(self._suspects)

    def suspect(self, silos: Mapping[str, str]) -> None:
        """Remember the suspects of a stored run."""
        self._suspects |= {name: said for name, said in silos.items() if name in self.names}

    def expect_data(self, digests: Mapping[str, str]) -> None:
        """Expect of silos whose data cannot be read now the data that they had earlier in the run."""
        for number, name in enumerate(self.names):
            self._roll.expect_data(number, digests.get(name, ""))

    def leave_out(self, silos: Mapping[str, str]) -> None:
        """Leave out the silos that a stored run had left out, and no others."""
        for number, name in enumerate(self.names):
            if name in silos:
                self._roll.leave_out(number, silos[name])
            elif name in self.left_out:
                self._roll.take_back(number)

    def meet(
        self, weights: Collection[str] | None = None, without: Mapping[str, tuple[str, float, str]] | None = None
    ) -> Sequence[ClientFacts]:
        """Wait until every silo has identified itself, and compare their facts.

        Args:
            weights: Names of the start's weights; default: silos are compared with one another only.
            without: Silos that a stored run had left out, which nobody waits for: for each name the reason, the number
                of samples and the digest of the data in that run.

        Raises:
            FederationError: Some have not in the time of a trip, or cannot take part, or differ.
        """
        gone = {self.names.index(name): facts for name, facts in (without or {}).items()}
        for number, (why, samples, data) in gone.items():
            self._roll.leave_out(number, why, ClientFacts(samples, False, frozenset(), data))
        until = time.monotonic() + self._patience.seconds
        while self._roll.missing or not self._roll.settle():
            if time.monotonic() > until:
                missing = [self.names[number] for number in self._roll.missing]
                refused = "; ".join(f"node {node} was refused: {why}" for node, why in self._roll.refused.items())
                said = f"no silo named {', '.join(missing)} in {self._patience.seconds:g} s; {refused or 'start it'}"
                raise FederationError(printable(said, LINE))
            self._roll.greet(self._patience.seconds)
            for ticket, answer in self._line.receive(self._roll.greetings):
                self._roll.take_answer(ticket, answer)
            if self._roll.unfit:
                raise FederationError(printable("; ".join(self._roll.unfit.values()), LINE))
            time.sleep(self._pause)
        odd = self._roll.describe_odd(weights)
        if odd:
            raise FederationError(printable(odd, LINE))
        for text in self._roll.describe_large():
            self.say(text)
        usual = next(about for number, about in sorted(self._roll.about.items()) if number not in gone)
        for number in gone:  # all silos of the run had the same network
            about = self._roll.about[number]
            self._roll.about[number] = about._replace(values=usual.values, statistics=usual.statistics)
        return [self._roll.about[number] for number in range(len(self.names))]

    def _exchange(self, trip: Exchange) -> dict[int, Reply]:
        """Return the checked answers to an exchange."""
        if self._missed[0] != trip.round:
            self._missed = (trip.round, set())
        absent = self.absent(trip.round)
        needed = min(self._patience.least or len(trip.cohort), len(trip.cohort))
        waiting = {number for number in trip.cohort if number not in absent}
        self._unreached = set(trip.cohort)
        expected = self._expect(trip)
        self._remember_sent(trip)
        sent = (
            self._pack(trip.name, {"sent": dict(trip.sent), "draw": describe_draw(trip.draw)})
            if not trip.each
            else None
        )
        found: dict[int, Reply] = {}
        asked: dict[str, _Request] = {}
        ask_at = dict.fromkeys(waiting, 0.0)
        failures: dict[int, int] = {}
        turn = secrets.token_hex(16)
        greet_at, until = 0.0, time.monotonic() + self._patience.seconds
        while waiting and (now := time.monotonic()) < until:
            if now >= greet_at:
                self._roll.greet(self._patience.seconds)
                greet_at = now + 6.0 * self._pause
            for number in sorted(waiting):
                node = self._roll.places.get(number)
                if node is None:
                    ask_at[number] = 0.0
                elif now >= ask_at[number]:
                    if ask_at[number] > 0.0:
                        self._note(trip, number, "asked again")
                    went = self._ask(trip, number, node, turn, sent, until - now, asked)
                    self._unreached -= {number} if went else set()
                    ask_at[number] = now + (self._patience.again if went else 4.0 * self._pause)
            for ticket, answer in self._line.receive([*asked, *self._roll.greetings]):
                if ticket not in asked:
                    self._roll.take_answer(ticket, answer)
                    continue
                request = asked.pop(ticket)
                number = request.number
                if number not in waiting:
                    continue
                try:
                    reply = self._read_reply(trip, request, answer, expected.get(number))
                except MessageError as error:
                    self._refuse(trip, number, str(error))
                    waiting.discard(number)
                    continue
                if reply == "working":
                    continue  # the answer to the first request comes, or the silo is asked again
                if reply != "ask again":
                    found[number] = reply
                    waiting.discard(number)
                    continue
                failures[request.node] = failures.get(request.node, 0) + 1
                ask_at[number] = now + 4.0 * self._pause if isinstance(answer, str) else 0.0
                if failures[request.node] == ATTEMPTS:
                    self._note(trip, number, "missing", f"asked {ATTEMPTS} times")
                    waiting.discard(number)
            if len(found) + len(waiting) < needed:
                break
            if waiting:
                time.sleep(self._pause)
        if not expected:
            self._require_alike(trip, found)
        self._require_near(trip, found)
        for number in waiting:
            self._note(trip, number, "missing", f"no answer in {self._patience.seconds:g} s")
        self._missed[1].update(number for number in trip.cohort if number not in found)
        if len(found) < needed:
            missing = self._format_names([number for number in trip.cohort if number not in found])
            said = (
                f"{len(found)} of {len(trip.cohort)} silos answered, but {needed} are needed; no answer from {missing}"
            )
            if waiting & self._roll.places.keys() and time.monotonic() >= until:
                said += (
                    f"; an exchange may take {self._patience.seconds:g} s (`seconds`), and a silent silo is asked "
                    f"again after {self._patience.again:g} s (`again`): raise them if silos need longer"
                )
            raise InterruptedWorkError(said)
        return found

    def _ask(
        self,
        trip: Exchange,
        number: int,
        node: int,
        turn: str,
        sent: Packed | None,
        seconds: float,
        asked: dict[str, _Request],
    ) -> bool:
        """Send the request to a silo, and return whether it went.

        Requests of one exchange have the same `turn`, by which a silo knows work that it is doing or has done.
        """
        sent = sent or self._pack(
            trip.name, {"sent": dict(trip.arguments_for(number)), "draw": describe_draw(trip.draw)}
        )
        digests = {
            part: {name: self._digest(part, name, value) for name, value in values.items()}
            for part, values in (("shared", trip.shared), ("equipped", trip.equipped))
        }
        known = self._known.setdefault((number, node), set())
        current = {digest for part in digests.values() for digest in part.values()}
        new = {digest: packed for _, packed, digest in self._packed.values() if digest in current - known}
        echo = {
            "run": self._run,
            "silo": self.names[number],
            "nonce": secrets.token_hex(16),
            "round": trip.round,
            "trip": trip.number,
        }
        content = {
            "kind": "trip",
            **echo,
            "turn": turn,
            "number": number,
            "work": work_name(trip.work),
            "seed": trip.seed,
            **digests,
            "kept": dict(trip.kept.get(number, {})),
            "personal": dict(trip.personal.get(number, {})),
            "sent": sent.structure,
            "told": {digest: packed.structure for digest, packed in new.items()},
        }
        blobs = {"sent": sent.blob, **{f"told-{digest}": packed.blob for digest, packed in new.items()}}
        message = Message(to_json(content), blobs)
        ticket = self._line.send(node, message, seconds)
        if ticket is None:
            self._note(trip, number, "cannot be reached")
            return False
        self.bytes_sent += message.size
        self._known[number, node] = current
        asked[ticket] = _Request(number, node, echo)
        return True

    def _read_reply(
        self, trip: Exchange, request: _Request, message: Message | str, expected: ExpectedUpload | None
    ) -> Reply | Literal["ask again", "working"]:
        """Read the reply in an answer, unless the silo has to be asked again or is still working.

        Raises:
            MessageError: It does not answer this request, or has another form.
        """
        if isinstance(message, str):
            self._note(trip, request.number, "did not answer", message)
            return "ask again"
        self.bytes_received += message.size
        most = self._limits.bytes
        if expected is not None:
            most = min(most, expected.size + SLACK + SLACK_EACH * len(expected.upload.leaves))
        content = read(message, replace(self._limits, bytes=most))
        if not _same_words(content.get("echo"), request.echo):
            raise MessageError("answers another request")
        if content.get("kind") == "failed":
            raise MessageError(failure_text(content))
        if content.get("kind") == "missing":
            self._known.pop((request.number, request.node), None)
            self._note(trip, request.number, "sent again")
            return "ask again"
        if content.get("kind") == "working":
            self._note(trip, request.number, "is still working")
            return "working"
        if content.get("kind") != "done" or set(message.blobs) != {"upload"}:
            raise MessageError("is of an unknown kind")
        self._roll.take_facts(request.number, content.get("facts"))
        upload = unpack(Packed(content.get("upload"), message.blobs["upload"]), answered_kinds())
        self._require_fit(trip, upload, expected, request.number)
        keep, personal = (_tokens(content.get(name), name[0], trip) for name in ("keep", "personal"))
        if expected is not None:
            _require_names(keep, expected.keep, "until the round ends")
            _require_names(personal, expected.personal, "for good")
        return Reply(upload, keep, personal)

    def _require_fit(self, trip: Exchange, upload: Any, expected: ExpectedUpload | None, number: int) -> None:
        try:
            leaves, form = flatten(upload, number)
        except FederationError as error:
            raise MessageError("an upload that does not consist of tensors") from error
        if expected is not None:
            _require(describe_misfit(form, expected.upload, exactly=trip.then is None))
        _require_numbers(leaves)
        if trip.then is not None:
            try:
                leaves, form = flatten(trip.then(upload), number)
            except Exception as error:
                raise MessageError("an upload that the server cannot use") from error
            if expected is not None:
                _require(describe_misfit(form, expected.made, exactly=True))
            _require_numbers(leaves)

    def _require_alike(self, trip: Exchange, found: dict[int, Reply]) -> None:
        """Compare uploads with one another, if nothing else determines their form."""
        forms = {number: _made_form(trip, reply, number) for number, reply in found.items()}
        kinds: list[Any] = []
        for form in forms.values():
            if form not in kinds:
                kinds.append(form)
        if len(kinds) < 2:
            return
        most = max(kinds, key=lambda kind: sum(form == kind for form in forms.values()))
        of_most = [number for number, form in forms.items() if form == most]
        if 2 * len(of_most) <= len(forms):
            names = ", ".join(self.names[number] for number in forms)
            raise FederationError(f"{names} sent uploads of different forms, and no form has a majority")
        for number, form in forms.items():
            if form != most:
                del found[number]
                self._refuse(
                    trip, number, "an upload whose form, or whose names of stored values, differ from most silos'"
                )

    def _require_near(self, trip: Exchange, found: dict[int, Reply]) -> None:
        """Compare the norms of uploads, because an outlier would overflow at other silos, which would be blamed.

        A loss spoils no model, so a silo of a large one is not remembered as a cause of others' errors.
        """
        norms = {number: norm_of(reply.upload) for number, reply in found.items()}
        sent = {number: sent_norm(trip.arguments_for(number), reply.upload) for number, reply in found.items()}
        for number in found:
            if len(found) == 1 and sent[number] is None and trip.work is not local_loss:
                sent[number] = self._norm_to_compare(trip, number)
        among = compare_norms(norms, sent)
        self._require_decided(trip, among)
        for number, one in among.items():
            said = f"an upload of norm {one.norm:.3g}, where a typical norm is {one.usual:.3g}"
            if one.far:
                del found[number]
                self._refuse(trip, number, f"{said}; lower the learning rate or look at its data")
                continue
            remembered = one.remembered and trip.work is not local_loss
            if one.reported or (remembered and self.names[number] not in self._suspects):
                self._note(trip, number, said)
            if remembered:
                self._suspects[self.names[number]] = f"sent {said} in round {trip.round}"
            self._earlier.setdefault(work_name(trip.work), {})[number] = one.norm

    def _remember_sent(self, trip: Exchange) -> None:
        """Remember the norms of what clients are sent in a round, for uploads with which nothing else is comparable.

        Ranks change shapes, as in FeDLRT, where coefficients of twice the rank answer bases without coefficients.
        """
        if self._sent[0] != trip.round:
            self._sent = (trip.round, {})
        common = largest_norm(trip.sent.values())
        for number in trip.cohort:
            own = largest_norm(values[number] for values in trip.each.values())
            self._sent[1][number] = max(common, own, self._sent[1].get(number, 0.0))

    def _norm_to_compare(self, trip: Exchange, number: int) -> float:
        """Return the largest norm that is usual after what a client was sent, and in what others answer to this work.

        A quadratic loss has gradients in factors that grow with the square of the model.
        """
        broadcast = largest_norm([*trip.shared.values(), *trip.equipped.values()])
        received = max(broadcast, self._sent[1].get(number, 0.0))
        others = sorted(norm for other, norm in self._earlier.get(work_name(trip.work), {}).items() if other != number)
        usual = others[(len(others) - 1) // 2] if others else 0.0
        return max(received, received * received, usual)

    def _require_decided(self, trip: Exchange, among: Mapping[int, NormComparison]) -> None:
        """End the round if half of the silos sent far more than the other half, because neither half is a majority."""
        apart = max((one.undecided for one in among.values()), default=0.0)
        if not apart:
            return
        norms = ", ".join(f"{self.names[number]} {one.norm:.3g}" for number, one in among.items())
        said = f"uploads' norms are more than {apart:g} times apart, with no majority: {norms}"
        if apart < FAR:
            self.say(printable(f"round {trip.round}, exchange {trip.number}: {said}", LINE))
            return
        before = [f"; earlier, silo {name} {text}" for name, text in self._suspects.items()]
        raise InterruptedWorkError(f"{said}; look at the data and the learning rate{''.join(before)}")

    def _format_names(self, numbers: Sequence[int]) -> str:
        """Format the names of silos, with known reasons."""
        why = {**self._roll.unfit, **self._roll.left_out}
        return ", ".join(
            self.names[number] + (f" ({printable(why[number])})" if number in why else "") for number in numbers
        )

    def _expect(self, trip: Exchange) -> Mapping[int, ExpectedUpload]:
        if self._rehearsal is None:
            about = self._roll.about.get(trip.cohort[0], ClientFacts(1.0, False, frozenset()))
            self._rehearsal = Rehearsal(ZeroLossClient(about.values, about.statistics))
        return self._rehearsal.expect(trip)

    def _refuse(self, trip: Exchange, number: int, why: str) -> None:
        self._note(trip, number, "refused", why)
        before = {name: text for name, text in self._suspects.items() if name != self.names[number]}
        said = "; earlier, ".join(
            [f"silo {self.names[number]}: {why}", *(f"silo {name} {text}" for name, text in before.items())]
        )
        if self._patience.wrong == "stop":
            raise InterruptedWorkError(said)
        if before:
            raise InterruptedWorkError(
                f"{said}; that may be the cause, so no silo is left out: look at {' and '.join(before)}, or begin "
                "another run without"
            )
        self._roll.leave_out(number, f"left out in round {trip.round}: {why}")

    def _note(self, trip: Exchange, number: int, what: str, detail: str = "") -> None:
        text = ", ".join(filter(None, (what, detail)))
        self.say(printable(f"round {trip.round}, exchange {trip.number}, silo {self.names[number]}: {text}", LINE))

    def _pack(self, name: str, value: Any) -> Packed:
        try:
            return pack(value, sent_kinds())
        except MessageError as error:
            raise FederationError(f"what {name} takes {error}") from error

    def _digest(self, part: str, name: str, value: Any) -> str:
        """Return the digest of a broadcast value; a new one is packed first."""
        known = self._packed.get((part, name))
        if known is None or known[0] is not value:
            packed = self._pack(name, value)
            known = self._packed[part, name] = (value, packed, packed.digest)
        return known[2]


def _tokens(value: Any, kind: str, trip: Exchange) -> dict[str, str]:
    """Return the tokens of a client's values."""
    right = (
        isinstance(value, dict)
        and len(value) <= KEPT_NAMES
        and all(name.isprintable() and len(name) <= NAME for name in value)
        and all(
            isinstance(token, str) and TOKEN.fullmatch(token) and token.startswith(f"{kind}{trip.round}-")
            for token in value.values()
        )
    )
    if not right:
        raise MessageError("keeps a value without a token of this round")
    return dict(value)


def _require_names(kept: Mapping[str, str], right: frozenset[str], until: str) -> None:
    """Check the names of a client's kept values; the server never sees more of them.

    Raises:
        MessageError: They are not those that the work gives.
    """
    if kept.keys() != right:
        wanted = ", ".join(sorted(right)) or "nothing"
        raise MessageError(f"names other values that its client keeps {until}; the work defines {wanted}")


def _same_words(one: Any, other: Mapping[str, Any]) -> bool:
    """Return whether tables are equal, including types: 1.0 and true differ from 1."""
    return isinstance(one, dict) and one == other and all(type(one[name]) is type(other[name]) for name in other)


def _require(wrong: str | None) -> None:
    if wrong is not None:
        raise MessageError(wrong)


def _require_numbers(leaves: Sequence[Tensor]) -> None:
    """Check that numbers, the sum of their squares, and sums over silos are finite."""
    for leaf in leaves:
        if leaf.is_floating_point() and leaf.element_size() < 2:
            raise MessageError(f"an upload of {leaf.dtype}, a type with which torch cannot compute")
        if not bool(torch.isfinite(leaf).all()):
            raise MessageError("an upload with non-finite numbers")
        if leaf.is_floating_point() and (largest := largest_number(leaf)) > largest_squarable(leaf):
            raise MessageError(f"an upload with numbers up to {largest:.3g}, whose squares overflow")


def _made_form(trip: Exchange, reply: Reply, number: int) -> tuple[Form, frozenset[str], frozenset[str]]:
    """Return the form that the server derives from an upload, and the names of the values that the client keeps."""
    made = reply.upload if trip.then is None else trip.then(reply.upload)
    return flatten(made, number)[1], frozenset(reply.keep), frozenset(reply.personal)
