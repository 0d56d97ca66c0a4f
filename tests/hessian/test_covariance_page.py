"""The Python blocks of the page on weighted covariances."""

import re
from pathlib import Path

import pytest
import torch

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "covariance-model.md").read_text()


def test_its_programs_run():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(program, names)
    found = [round(names[model].outliers[0].overlap, 2) for model in ("server", "client")]
    assert f"# {found[0]} and {found[1]}" in PAGE
    assert names["spectra"].trace == pytest.approx(float(torch.trace(names["dense"])))
    assert names["fewer"].samples == 20
    assert (names["fewer"].low < names["fewer"].eigenvalues).all()
