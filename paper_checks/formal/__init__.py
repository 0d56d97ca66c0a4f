"""Statements that Coq's kernel checked: theorems next to the papers' claims, and the record of what was compiled.

A paper's folder holds ``formal/*.v``. A comment before a theorem names the claim that it is of, and what it is to it:

    (* proves: fedlrt/thm-8 *)
    Theorem thm_8 : thm_8_states (constant := 12) (leading := 1) (limit := 12).

``make formal`` compiles everything and keeps the record, ``formal/checked.json``. Nothing else needs Coq.
"""
