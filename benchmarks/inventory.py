"""Recall and false alarms of `rankproof inventory`, on the papers of the ledger and on other papers in LaTeX.

``python benchmarks/inventory.py PAPERS --ids IDS.tsv [--outside FOLDER ...]`` reads the text of each version of the
papers (``PAPERS/rolora.txt``), which are not part of this repository. ``IDS.tsv`` has an id of the ledger in each line,
such as ``rolora/eq-9``; its last column may extend a range of equations (``to eq-12``). The file has, for each kind,
how many of the numbers in these ids are found, and the candidates of the mechanical checks: which of the errata on
record they are, and which are false alarms. In other papers a plain scan counts the environments that have a number,
and the candidates were judged by hand (`JUDGED`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

from figures.provenance import machine, package_versions
from paper_checks.inventory.candidates import find_candidates
from paper_checks.inventory.checks.numbers import read_number
from paper_checks.inventory.document import Candidate, Document, kind_called
from paper_checks.inventory.reading import read_document
from workloads.files import write_whole

OUT = Path(__file__).with_suffix(".json")
_LABEL = re.compile(r"(?P<kind>[a-z]+)-(?P<low>(?:[A-Z]\.?)?\d+(?:\.\d+)*)(?:-(?P<high>\d+))?(?!\d)")

ERRATA = {
    "rolora/table-1": ("rolora", "average", "Table 1", 4),
    "rolora/table-1, repeated in Table 6": ("rolora", "average", "Table 6", 4),
    "rolora/table-6": ("rolora", "repeated entry", "Table 1", 1),
    "rolora/table-8": ("rolora", "size", "Table 8", 1),
    "fedloru-v2/txt-total20": ("fedloru-v2", "total", "Table 2", 1),
    "fedloru-v2/txt-total20 in iclr": ("fedloru-iclr", "total", "Table A3", 1),
    "fedloru-v2/txt-total20 in v1": ("fedloru-v1", "total", "Table A1", 1),
    "fedloru-v2/txt-ratio": ("fedloru-v2", "difference", "Table 6", 2),
    "fedloru-v2/txt-ratio in iclr": ("fedloru-iclr", "difference", "Table A5", 2),
    "fedloru-v2/txt-ratio in v1": ("fedloru-v1", "difference", "Table 2", 2),
    "fedlrt/thm-10-proof": ("fedlrt", "constant", "Theorem 10", 1),
}
"""Errata of the ledger that printed numbers alone show: version, check, place, and number of candidates.

Those of other claims on numbers need more than the print: the sizes of test sets (rolora/table-2, rolora/table-10), of
layers (fedloru-iclr/txt-ratios, fedloru-v2/txt-peft), costs in symbols (fedlrt/table-1, fedlrt/fig-3), or the sense of
a sentence (fedloru-iclr/txt-100, fedloru-v2/txt-std-a).
"""
JUDGED = {
    "dasha-partial-participation": ("k3nfalt/dasha-partial-participation, neurips2023, at 5d84eb8", 0),
    "uni_graph": ("qslim/uni_graph at 6513a44", 0),
    "carleson": ("fpvandoorn/carleson, blueprint, at bd23c8ab", 0),
    "value-profiles": ("tsor13/value-profiles---emnlp at 74b0c2c", 0),
    "hyper-representations": ("HSG-AIML-Papers/2022_NeurIPS_Schuerholt_Hyper-Representation-Sampling at b728f91", 0),
    "shap-flow": ("behroozazarkhalili/iclr2024 at ec00963", 0),
    "beta-dpo": ("1587causalai/dynamic-beta-alignment at 4a1a424", 0),
    "finite-geometry": ("0ffz/d02-project at 988661e", 0),
}
"""Outside papers by the name of their folder: repository, and how many candidates are false, judged by hand."""
_ENVIRONMENTS = re.compile(r"\\begin\{(\w+)\}")


def wanted_numbers(ids: Path) -> dict[str, set[tuple[str, str]]]:
    """Return kind and number of every id that has a number, by version."""
    found: dict[str, set[tuple[str, str]]] = {}
    for line in ids.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        version, _, label = columns[0].partition("/")
        match = _LABEL.match(label)
        kind = kind_called(match["kind"]) if match and match["kind"] != "claim" else None
        if match is None or kind is None:
            continue
        further = re.search(r"to eq-(\d+)", columns[-1])
        high = further[1] if further else match["high"]
        numbers = range(int(match["low"]), int(high) + 1) if high else [match["low"]]
        found.setdefault(version, set()).update((kind, str(number)) for number in numbers)
    return found


def of_ledger(papers: Path, ids: Path) -> dict[str, Any]:
    """Return recall by kind, errata found and false alarms on the papers of the ledger."""
    wanted, found = Counter[str](), Counter[str]()
    missed: list[str] = []
    candidates: dict[str, tuple[Candidate, ...]] = {}
    seconds = {}
    for version, pairs in wanted_numbers(ids).items():
        began = time.perf_counter()
        document = read_document(str(papers / f"{version}.txt"))
        candidates[version] = find_candidates(document)
        seconds[version] = round(time.perf_counter() - began, 2)
        have = {(item.kind, item.number) for item in document.items}
        for kind, number in sorted(pairs):
            wanted[kind] += 1
            found[kind] += (kind, number) in have
            if (kind, number) not in have:
                missed.append(f"{version}: {kind} {number}")
    errata: dict[str, dict[str, int]] = {}
    true = set[Candidate]()
    for id, (version, check, about, number) in ERRATA.items():
        of_it = [one for one in candidates[version] if (one.check, one.about) == (check, about)]
        errata[id] = {"wanted": number, "found": len(of_it)}
        true.update(of_it)
    every = [(version, one) for version, some in candidates.items() for one in some]
    return {
        "recall": {kind: {"wanted": wanted[kind], "found": found[kind]} for kind in wanted},
        "share": sum(found.values()) / sum(wanted.values()),
        "missed": missed,
        "errata": errata,
        "candidates": len(every),
        "false alarms": [f"{version}, {one.place.line}: {one.says}" for version, one in every if one not in true],
        "seconds": seconds,
    }


def gains_read(document: Document) -> int:
    """Return how many cells of tables have a number and its gain."""
    numbers = (read_number(cell.text) for table in document.tables for row in table.rows for cell in row)
    return sum(number is not None and number.gain != "" for number in numbers)


def scanned(folder: Path, document: Document) -> int:
    """Return how many theorem-like environments, comments left out, the files of an inventory have."""
    known = {item.place.file for item in document.items}
    count = 0
    for file in known:
        path = next((path for path in folder.rglob(Path(file).name) if path.as_posix().endswith(file)), None)
        text = re.sub(r"(?<!\\)%.*", "", path.read_text(encoding="utf-8", errors="replace")) if path else ""
        text = re.sub(
            r"\\begin\{comment\}.*?\\end\{comment\}|\\iffalse.*?\\fi|\\end\{document\}.*", "", text, flags=re.S
        )
        restated = re.findall(r"\\begin\{restatable\}(?:\[[^\]]*\])?\{(\w+)\}", text)
        names = [*_ENVIRONMENTS.findall(text), *restated]
        count += sum(kind_called(name) not in (None, "equation", "table", "figure", "algorithm") for name in names)
    return count


def of_others(folder: Path) -> dict[str, Any]:
    """Return what is found of an outside paper, which is a folder."""
    began = time.perf_counter()
    document = read_document(str(folder))
    candidates = find_candidates(document)
    seconds = time.perf_counter() - began
    kinds = Counter(item.kind for item in document.items)
    statements = sum(kinds[kind] for kind in kinds if kind not in ("equation", "table", "figure", "algorithm"))
    repository, false = JUDGED.get(folder.name, ("", None))
    return {
        "repository": repository,
        "items": dict(kinds),
        "tables read": len(document.tables),
        "gains read": gains_read(document),
        "displays read": len(document.displays),
        "statements": {"scanned": scanned(folder, document), "found": statements},
        "candidates": dict(Counter(one.check for one in candidates)),
        "false alarms": false,
        "not read": list(document.notes),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    """Measure and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", type=Path, metavar="PAPERS", help="folder of the texts")
    parser.add_argument("--ids", type=Path, required=True, metavar="FILE", help="ids of the ledger, one a line")
    parser.add_argument("--outside", type=Path, nargs="*", default=[], metavar="FOLDER", help="papers in LaTeX")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help=f"file to write; default: {OUT}")
    options = parser.parse_args()
    answer = {
        "ledger": of_ledger(options.papers, options.ids),
        "outside": {folder.name: of_others(folder) for folder in options.outside},
        "environment": {**machine(), "packages": package_versions(("pylatexenc",))},
    }
    write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})
    print(json.dumps({key: answer["ledger"][key] for key in ("share", "missed", "errata", "false alarms")}, indent=1))


if __name__ == "__main__":
    main()
