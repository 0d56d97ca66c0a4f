"""Settings of the process that a check changes are those of before when the next check begins."""

import decimal
import os
import sys
import warnings

import mpmath
import numpy as np
import pytest
import torch

from paper_checks.context import Context
from paper_checks.engine.measuring import reproducible
from paper_checks.engine.process_settings import settings_restored

TINY = 1e-310
CHANGES = {
    "torch's type": (lambda: torch.set_default_dtype(torch.float16), torch.get_default_dtype),
    "torch's device": (lambda: torch.set_default_device("meta"), lambda: str(torch.zeros(1).device)),
    "gradients": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "threads": (lambda: torch.set_num_threads(torch.get_num_threads() + 1), torch.get_num_threads),
    "determinism that warns": (
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        torch.is_deterministic_algorithms_warn_only_enabled,
    ),
    "determinism": (lambda: torch.use_deterministic_algorithms(True), torch.are_deterministic_algorithms_enabled),
    "products": (lambda: torch.set_float32_matmul_precision("medium"), torch.get_float32_matmul_precision),
    "denormals": (lambda: torch.set_flush_denormal(True), lambda: TINY * float(len("a")) > 0.0),
    "mpmath": (lambda: setattr(mpmath.mp, "dps", 50), lambda: mpmath.mp.prec),
    "decimals": (lambda: setattr(decimal.getcontext(), "prec", 2), lambda: decimal.Decimal(1) / 7),
    "overflow": (lambda: np.seterr(all="raise"), np.geterr),
    "folder": (lambda: os.chdir("/"), os.getcwd),
    "environment added": (lambda: os.environ.__setitem__("CHANGED_BY_A_CHECK", "1"), lambda: dict(os.environ)),
    "environment removed": (lambda: os.environ.__delitem__("PATH"), lambda: dict(os.environ)),
    "recursion": (lambda: sys.setrecursionlimit(5000), sys.getrecursionlimit),
    "digits": (lambda: sys.set_int_max_str_digits(0), sys.get_int_max_str_digits),
    "warnings": (lambda: warnings.simplefilter("error"), lambda: [*warnings.filters]),
}
"""Changes that a check makes, each with what shows it to the next check."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("raises", [False, True])
def test_the_next_check_has_the_settings_of_before(change, raises):
    make, shown = CHANGES[change]
    with settings_restored(), warnings.catch_warnings():  # also where the restoring under test fails
        before = shown()
        try:
            with reproducible(Context("a", 1)):
                make()
                assert shown() != before
                if raises:
                    raise ArithmeticError
        except ArithmeticError:
            pass
        assert shown() == before


def test_settings_that_were_there_before_stay():
    with settings_restored(), decimal.localcontext(prec=9), mpmath.workdps(30):
        torch.set_default_dtype(torch.float64)
        with reproducible(Context("a", 1)):
            assert torch.zeros(1).dtype == torch.float64
        assert torch.zeros(1).dtype == torch.float64
        assert len(str(decimal.Decimal(1) / 7)) == len("0.142857143")
        assert mpmath.mp.dps == 30
    assert torch.zeros(1).dtype == torch.float32
