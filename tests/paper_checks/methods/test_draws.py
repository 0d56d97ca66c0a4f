"""Cases depend on the seed alone."""

import importlib.util
import sys

from hypothesis import strategies

from paper_checks.context import Context
from paper_checks.methods.draws import draw_cases


def test_cases_do_not_depend_on_the_code_that_is_loaded(tmp_path, monkeypatch):
    case, context = strategies.tuples(strategies.floats(1.0, 1e6), strategies.integers(0, 10**9)), Context("a/b")
    before = draw_cases(context, case, 200)
    code = tmp_path / "loaded_meanwhile.py"
    code.write_text(f"FLOATS = {[1.25 + 7.0 * k for k in range(400)]}\nINTEGERS = {[12345 * k for k in range(400)]}\n")
    spec = importlib.util.spec_from_file_location("loaded_meanwhile", code)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loaded_meanwhile", module)
    spec.loader.exec_module(module)
    assert draw_cases(context, case, 200) == before
