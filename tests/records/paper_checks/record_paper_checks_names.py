"""Names of statements: what ids, prefixes and usual names mean in an invented ledger, and what comes closest."""

from dataclasses import dataclass

from paper_checks.names import Names, is_id, owner


@dataclass(frozen=True)
class Statement:
    """A statement as names see it."""

    id: str
    where: str = ""
    also: tuple[str, ...] = ()


STATEMENTS = (
    Statement("quick-v1/thm-1", "Theorem 1"),
    Statement("quick-v1/thm-1-proof", "proof of Theorem 1"),
    Statement("quick-v1/lem-A.2a", "Lemma A.2, first part; judged in Theorem 1"),
    Statement("quick-v1/lem-A.2b", "Lemma A.2 (see Lemma 9)"),
    Statement("quick-v2/prop-3.1", "Proposition 3.1 (v1), Theorem 4 (v2)", ("quick-v1/prop-3.1",)),
    Statement("quick-v2/eq-21-25", "eqs. (21) to (25)"),
    Statement("quick-v2/eq-2", "Equation 2; Corollary 7.1"),
    Statement("quick-v2/txt-total20", "Table A1 and Figure 2(b)"),
    Statement("slow/def-5", "Definition 5 & Assumption B.2"),
    Statement("slow/cor-A.5-rate", "Corollary A.5"),
    Statement("slow/alg-6", "Algorithm 6, lines 3 to 5"),
    Statement("slow/sec-4.1-rank", "Section 4.1"),
    Statement("slow/sec-4.2", "Sec. 4.2"),
    Statement("slow-er/thm-2", "Theorems 2 and 9"),
)
NAMES = Names(STATEMENTS, {"quick": "QuickLoRA", "slow": "Slow-FL", "slow-er": "SlowER"})
EXACT = (
    "quick-v1/thm-1",
    "quick-v1/prop-3.1",
    "quick",
    "slow",
    "slow/",
    "quick-v2/eq-2",
    "quick-v2/eq",
    "q",
    "",
    "/",
    "zz",
)
KINDS = "thm", "theorem", "th", "lem", "lemma", "prop", "proposition", "cor", "corollary", "def", "definition", "assump"
KINDS += (
    "assumption",
    "asm",
    "alg",
    "algorithm",
    "eq",
    "eqn",
    "equation",
    "fig",
    "figure",
    "tab",
    "table",
    "sec",
    "section",
)
NUMBERS = (
    "1",
    "2",
    "2a",
    "3.1",
    "4",
    "5",
    "6",
    "7.1",
    "9",
    "21",
    "22",
    "25",
    "A.2",
    "A.2a",
    "a2",
    "A.5",
    "A1",
    "B.2",
    "2(b)",
)
LISTS = "Theorems 1 and 2", "theorems 1, 2", "theorems 1, and 2", "theorem 1 & 2", "theorems 1 & 2", "theorems 1 to 2"
LISTS += (
    "theorems 1,2 and 9",
    "eqs. (2) and (21)",
    "(21) to (25)",
    "(2), (21)",
    "lemmas A.1 to A.2",
    "eq 20 to 26",
    "(25)",
    "eqs. 21 to 25",
)
OTHERS = (
    "QuickLoRA v1 Theorem 1",
    "quick lora version 2",
    "quick-v2",
    "v2 eq 2",
    "version 1",
    "slow fl",
    "Slow_FL def 5",
)
OTHERS += (
    "slower theorem 9",
    "theorem 9 of SlowER",
    "proof of theorem 1",
    "quick v1 thm 1 proof",
    "the rate of corollary A-5",
)
OTHERS += (
    "corollary A–5",
    "rate of corollary 9",
    "total20",
    "section 4",
    "section 4.1",
    "sec 4 rank",
    "theorem",
    "QuickLoRA",
)
OTHERS += "lemma", "THM-1", "slow/corollary-a.5-rate", "2", "definition five", "words only", "v1"


def _ids(found):
    return [one.id for one in found]


def ids_and_prefixes():
    for asked in EXACT:
        yield asked, _ids(NAMES.find(asked)), NAMES.is_exact(asked), is_id(asked), NAMES.nearest(asked)


def kinds_and_numbers():
    for kind in KINDS:
        yield kind, {number: _ids(found) for number in NUMBERS if (found := NAMES.find(f"{kind} {number}"))}


def signs_between_kind_and_number():
    for sign in (".", "s ", "-", "", ". ", " (", ":", "#", "_", "/", "–", "!"):
        yield sign, [_ids(NAMES.find(f"{kind}{sign}2")) for kind in ("thm", "eq")]


def lists_and_other_names():
    for asked in (*LISTS, *OTHERS):
        spoken = NAMES.understood(asked)
        parts = spoken and [sorted(spoken.papers), spoken.kind, spoken.numbers, sorted(spoken.words)]
        yield (
            asked,
            _ids(NAMES.find(asked)),
            parts,
            NAMES.nearest(asked),
            [sorted(part) for part in NAMES.subject(asked)],
        )


def nearest_numbers():
    for asked in (
        "theorem 3",
        "theorem 8",
        "lemma A.3",
        "lemma 2",
        "eq 23",
        "eq 26",
        "(3)",
        "3",
        "3.1",
        "slow theorem 1",
    ):
        yield asked, NAMES.nearest(asked)
    for asked in (
        "corollary A.6",
        "figure 3",
        "quick theorem 2",
        "section 5",
        "assumption 1",
        "algorithm 7",
        "slow/alg-7",
    ):
        yield asked, NAMES.nearest(asked)


def names_in_rows():
    yield {one.id: NAMES.as_rows(one.id) for one in STATEMENTS}
    yield NAMES.vocabulary, sorted(NAMES.known)
    yield [
        owner(version, papers) for version in ("a-b", "a", "ab", "a-b-c", "b") for papers in (["a"], ["a", "a-b"], [])
    ]
