"""Evidence and results of methods as their records keep them: without digests and modules."""

from paper_checks.claim import Evidence


def shown(evidence):
    """Return what a method found: its fields, its grade, and both sides of each line; a refusal as it is."""
    if not isinstance(evidence, Evidence):
        return evidence
    kept = (
        *("ok", "scope", "printed", "obtained", "margin", "slack", "cases", "tight", "level", "witness", "sides"),
        *("reason", "whole", "gap", "infinite", "notes", "flaw", "grade", "shown"),
    )
    plain = Evidence(evidence.ok, "")
    values = {name: getattr(evidence, name) for name in kept if getattr(evidence, name) != getattr(plain, name)}
    values["ok"] = evidence.ok
    values["length"] = len(evidence.printed + evidence.obtained)  # of numbers in texts, only the value is compared
    values |= {"facts": [(fact.says, fact.everywhere) for fact in evidence.facts]} if evidence.facts else {}
    return values | (
        {"lines": {name: line_shown(line) for name, line in evidence.lines.items()}} if evidence.lines else {}
    )


def line_shown(line):
    """Return outcome, kind and sides of a line."""
    kinds = [kind for kind in ("equal", "strict", "formula") if getattr(line, kind)]
    return [line.ok, line.fails, ", ".join(kinds), line.sides]
