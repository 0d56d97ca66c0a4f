"""Records of Coq files as text: terms, sentences, theorems, records, the bridge to claims, and what is refused."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from recording import refused

from paper_checks.claim import Best, Evidence, Form, Reading, claim
from paper_checks.formal import compile as compiling
from paper_checks.formal import page
from paper_checks.formal.bridge import constants_meant, flaws
from paper_checks.formal.real_numbers import value_of
from paper_checks.formal.sentences import comments, sentences, without_comments
from paper_checks.formal.theorems import (
    AXIOMS,
    RECORD,
    FormalTheorem,
    Sources,
    beyond_the_reals,
    established,
    formal_theorems,
    sources_of,
)

PROVES = FormalTheorem("a/b", "proves", "X.x.x", "x/formal/x.v", 3, "Theorem x : states (K := 1).", {"K": "1"})
PROVES = replace(PROVES, checked=True, axioms=AXIOMS[:1], digest="0f")
X = """From X Require Import y.
Notation "a <> b" := (differ a b).
(** Documented. *)
Definition states {K : R} : Prop := forall x, x <= K * half x.
Definition unused := 1.

(* proves: a/b *)
Theorem x : states (K := 1 / 2) (limit := 2 * (3 + 1)).
Proof. reflexivity. Qed.
(* best: a/b *)
Theorem best : states (K := sqrt 4) (name := fun s => s).
(* part of: a/b@second: one client,
   one step *)
Theorem part : forall a b, a <> b.
(* refutes: a/c *)
Theorem wrong : ~ states (K := - 1).
(* best: a/f *)
Theorem alone : states (K := 1 / 2).
"""
Y = "Definition half x := x / 2.\nLet hidden := 3.\nDefinition other := 2.\n"


class Invented:
    """A paper with Coq files."""

    def __init__(self, folder, called="X", package="paper_checks.x"):
        self.folder, self.called, self.name, self.package = folder, called, called, package

    def claims(self):
        return CLAIMS


@contextmanager
def _written(**files):
    with TemporaryDirectory() as folder:
        own = Path(folder, "formal")
        own.mkdir()
        for name, text in files.items():
            Path(own, f"{name}.v").write_text(text, encoding="utf-8")
        yield Sources(own, "X", "x/formal")


def _told(sources, of, *given):
    return str(refused(of, *given)).replace(str(sources.folder), "FOLDER")


def _declared(id="a/b", judge=None, **rest):
    fields = {"where": "eq. 1", "says": "$K$", "measure": lambda context: None, "mutants": [{"K": 0.5}]}
    found = judge or (lambda data, K=0.5, limit=8: Evidence(True, "scope", margin=1.0))
    return claim(id, **(fields | {"expect": ("holds", "kernel")} | rest))(found)


SECOND = Reading("second", "$K = 2$", {"K": 2.0}, "eq. 2", ({"K": 0.5},))
CORRECTED = {"expect": ("corrected", "proof"), "correction": Form("$K = 3$", {"K": 3.0}, ({"K": 1.0},))}
CLAIMS = (
    _declared(best={"K": Best(2.0, "proved")}, readings=(Reading("literal"), SECOND)),
    _declared("a/c", expect=("refuted", "proof")),
    _declared("a/d"),
    _declared("a/f", best={"K": Best(0.5, "proved")}),
)
FIXED = _declared("a/e", **CORRECTED, readings=(Reading("literal"), SECOND))


def values_of_terms():
    for term in (
        *("12", " 1 / 2 + 1 / 4 ", "2 ^ 3", "2 ^ 64", "2 ^ 65", "- 3 / 6", "exp 1 - 1", "sqrt 2", "exp (1 + 1)"),
        *("(exp 2)", "sqrt x", "fun s => s", "", "1 / 0", "2 * (3 - 5)", "True", "1.5", "exp 1000", "2 ^ - 1", "a + 1"),
        *("sqrt 4 / exp 0", "0 - sqrt 16 * 2", "log 2", "1 +", "2 % 3"),
    ):
        yield value_of(term)


def sentences_of_a_file():
    text = (
        'Section A. (* Axiom b. (* c. *) *) Let x := 1.5. Variable y : R. Module Type M. End M. Notation "a. b" := c.\n'
        "  - Local Definition d := 2... Module N := P. { #[global] Instance e : f. } End A. Time Lemma g : h.\n"
    )
    for one in sentences(text):
        yield one.code, one.command, one.within, one.in_section, one.start, one.end
    for text in ("Section A. End B. x. End A. y.", "End A. x.", "Section A. Section B. x. End B. y. End B. End A. z."):
        yield [(one.code, one.within) for one in sentences(text)]
    yield sentences(""), sentences("no stop"), [one.code for one in sentences("a.b c. d .e f.")]


def comments_of_a_file():
    for text in (
        'a (* b (* c *) d *) "(* e *)" (* "*)" f *)\ng',
        "(* open",
        '"open (* a *)',
        "(* two\nlines *)",
        "(**)",
    ):
        yield list(comments(text)), without_comments(text), without_comments(text, strings=False)


def theorems_of_files():
    with _written(x=X, y=Y) as sources:
        for one in sources.theorems():
            yield one.as_json(), one.claim, one.reading, one.line, one.imports, one.outside
        yield [file.name for file in sources.in_order()], [file.name for file in sources.imports(sources.files[0])]
        yield [file.name for file in sources.files], len({sources.digest(file) for file in sources.files})


def settings_of_statements():
    with _written(x=X, y=Y) as sources:
        statements = [one.statement for one in sources.theorems()]
        yield [(file.name, parts) for file, parts in sources.setting(statements).items()]
        yield [(file.name, parts) for file, parts in sources.setting(["other + unused"]).items()], sources.setting([])


def files_without_a_proof():
    for text in (
        *("Axiom a : b.", "Theorem x : a.\nAdmitted.", "Parameters a b : R.", "Variable x : R.", "Proof. admit. Qed."),
        *(
            "Section S.\nVariable x : R.\nEnd S.",
            "(* Axiom *)",
            'Notation "Axiom" := x.',
            "Hypothesis h : x.",
            "Load z.",
        ),
        *("Add LoadPath q.", "Declare ML Module q.", "#[bypass_check(guard)] Fixpoint f := g.", "Lemma Axiomatic : a."),
        *("Unset Guard Checking.", "Context (x : R).", "Lemma a' : b.\n\n\nProof. give_up."),
    ):
        with _written(x=text) as sources:
            yield _told(sources, sources.require_proved)


def theorems_that_cannot_be_read():
    head = "(* proves: a/b *)\n"
    for text in (
        *(
            f"{head}Lemma x : a.",
            f"{head}\nTheorem x : a.",
            "(* proves a/b *)\nTheorem x : a.",
            "(* proves : a/b *)\nx.",
        ),
        *(
            f"Section S.\n{head}Theorem x : a.\nEnd S.",
            f"Module M.\n{head}Theorem x : a.",
            f"{head}",
            "(* part of:a *)\n",
        ),
        *("Require Import X.z.", "From X Require Import x.", "From Rankproof Require Import z.", "Require Import z."),
    ):
        with _written(x=text) as sources:
            yield _told(sources, sources.theorems).replace(str(compiling.THEORY), "THEORY")


def files_that_import_each_other():
    with _written(x="From X Require Import y.", y="Require Import x.") as sources:
        yield _told(sources, sources.in_order), _told(sources, sources.theorems)
    with _written(x="From X Require Import (notations) y z.", y="Require X.z.", z="") as sources:
        yield [file.name for file in sources.in_order()]


def records_on_file():
    with _written(x=X, y=Y) as sources:
        yield sources.record(), sources.recorded_by, replace(sources, outside=True).recorded_by
        name, digest = "X.x.x", sources.theorems()[0].digest
        for entry in (
            *(
                {"id": "a/b", "role": "proves", "digest": digest, "axioms": [AXIOMS[0]]},
                {"digest": 1},
                {},
                {"digest": "a"},
            ),
            *({"id": "a/b", "role": "best", "digest": digest}, {"id": "a/c", "role": "proves", "digest": digest}),
            *({"digest": "a", "axioms": "none"}, {"digest": "a", "axioms": ["choice"]}, {"digest": "a", "axioms": [1]}),
        ):
            Path(sources.folder, RECORD).write_text(json.dumps({"theorems": {name: entry}}), encoding="utf-8")
            found = refused(sources.theorems)
            yield _told(sources, sources.theorems) if isinstance(found, str) else (found[0].status, found[0].axioms)
            yield [one.checked for one in sources.theorems(recorded=False)][:1]
        for text in ("[]", "{", '{"theorems": []}', "{}"):
            Path(sources.folder, RECORD).write_text(text, encoding="utf-8")
            yield _told(sources, sources.record_on_file)


def theorems_and_their_status():
    for one in (
        PROVES,
        replace(PROVES, checked=False),
        replace(PROVES, outside=True),
        replace(PROVES, id="a/b@second"),
    ):
        yield one.status, one.claim, one.reading, one.as_json()
    stale = replace(PROVES, checked=False)
    for theorems in ((), (PROVES,), (PROVES, stale), (stale,), (replace(PROVES, role="best"), PROVES)):
        yield (
            established(theorems, "proves", ""),
            established(theorems, "best", ""),
            established(theorems, "proves", "x"),
        )


def axioms_beyond_the_reals():
    return beyond_the_reals(AXIOMS), beyond_the_reals(["z", AXIOMS[1], "b", "b"]), AXIOMS


def sources_of_papers():
    for called, package in (
        ("X", "paper_checks.x"),
        ("My paper", "paper_checks.y"),
        ("Coq", "a.z"),
        ("", "own"),
        ("9", "b.c"),
    ):
        found = sources_of(Invented(Path("folder"), called, package))
        yield found.logical, found.place, found.outside, found.folder.name, found.files


def constants_that_are_meant():
    for role in ("proves", "refutes", "best", "part of"):
        for id in ("a/b", "a/b@second", "a/b@third"):
            yield constants_meant(CLAIMS[0], replace(PROVES, role=role, id=id))
        yield constants_meant(CLAIMS[1], replace(PROVES, role=role, id="a/c"))
        for id in ("a/e", "a/e@second", "a/e@literal"):
            yield constants_meant(FIXED, replace(PROVES, role=role, id=id))


def flaws_of_theorems():
    for constants in (
        {"K": "1/2"},
        {"K": "0.5"},
        {"K": "2"},
        {"limit": "8"},
        {"limit": "9", "M": "1"},
        {"K": "fun s => s"},
    ):
        for id, role in (("a/b", "proves"), ("a/b", "best"), ("a/b@second", "proves"), ("a/b@third", "proves")):
            yield list(flaws(CLAIMS[0], [replace(PROVES, id=id, role=role, constants=constants)]))


def assumptions_of_theorems():
    for answer in (
        *(
            "Closed under the global context\n",
            f"Axioms:\n{AXIOMS[1]} : a\n  b\n{AXIOMS[0]}\n  : c\n",
            "",
            "x is assumed\n",
        ),
        *("Axioms:\nb : c\na.d' : e\n", "Axioms:\nf is assumed to be guarded.\n"),
    ):
        yield refused(compiling._assumed, "X.x.x", answer)


def differences_from_the_record():
    with _written(x=X, y=Y) as sources:
        paper = Invented(sources.folder.parent)
        theorems = sources.theorems()
        for axioms in ((), AXIOMS[:1], ("choice",)):
            found = compiling.Compiled(paper, theorems, {one.name: axioms for one in theorems}, 20, 1.0)
            yield list(compiling.differences(found, CLAIMS)), _told(sources, compiling.write_record, found, "8.18")
            if "choice" not in axioms:
                kept = json.loads(Path(sources.folder, RECORD).read_text(encoding="utf-8"))
                yield (
                    kept["coq"],
                    [(name, {**one, "digest": len(one["digest"])}) for name, one in kept["theorems"].items()],
                )
                again = replace(found, theorems=sources.theorems())
                yield list(compiling.differences(again, CLAIMS)), [one.status for one in again.theorems]
                yield list(compiling.differences(replace(again, theorems=again.theorems[:1]), CLAIMS[:1]))
                other = {one.name: AXIOMS[2:3] for one in theorems}
                yield list(compiling.differences(replace(again, axioms=other), CLAIMS))[:2]


def pages_of_theorems():
    with _written(x=X, y=Y) as sources:
        paper = Invented(sources.folder.parent)
        yield (
            list(page._paper(paper)),
            list(formal_theorems(paper)),
            [len(one) for one in formal_theorems(paper).values()],
        )
        yield page.kernel_page([paper]).splitlines()[:6], list(page._lines(["a\nb", "c"])), page.NAME
    with _written() as empty:
        yield list(page._paper(Invented(empty.folder.parent))), empty.theorems()
