"""Content of a wheel, and its use where no checkout is."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy
import pytest

pytest.importorskip("setuptools", reason="setuptools builds the wheel")

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("rmt", "workloads", "hessian", "toymodels", "algorithms", "runs", "figures", "paper_checks")
LEFT_OVER = {".pyc", ".so", ".orig", ".swp", ".tmp"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The files of a wheel, built from a copy so that nothing is left in the checkout."""
    copy, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in (*ROOMS, "docs/figures"):
        ignored = shutil.ignore_patterns("__pycache__", "runs" if name == "docs/figures" else "")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for page in sorted((ROOT / "docs").glob("*.md")):
        shutil.copy(page, copy / "docs" / page.name)
    for name in ("rankproof.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(place)]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def files(place):
    return {
        path.relative_to(place).as_posix()
        for path in place.rglob("*")
        if path.is_file() and path.suffix not in LEFT_OVER and "__pycache__" not in path.parts and path.name[0] != "."
    }


def test_every_file_of_the_packages_is_in_the_wheel(built):
    """Witnesses, certificates, templates and stored tables are read at run time, not only imported."""
    wanted = {f"{room}/{file}" for room in ROOMS for file in files(ROOT / room)}
    assert not wanted - files(built)
    assert sum("/witnesses/" in file for file in wanted) > 100


def test_stored_numbers_of_figures_are_in_the_wheel(built):
    tables = {file.name for file in (ROOT / "docs" / "figures").glob("*.csv")}
    stored = files(built / "rankproof_stored")
    assert tables
    assert stored == tables | {f"{table.removesuffix('.csv')}.manifest.json" for table in tables}


def test_the_documentation_is_in_the_wheel_and_shown_from_it(built, tmp_path):
    assert files(built / "rankproof_docs") == {"README.md", *(page.name for page in (ROOT / "docs").glob("*.md"))}
    done = outside(built, "import rankproof\nassert rankproof.main(['help', 'claims']) == 0", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Adding a claim" in done.stdout


def outside(built, program, folder):
    """Runs a program that imports from the wheel's files and from installed packages, and from no checkout."""
    installed = str(Path(numpy.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path += {[str(built), installed]!r}\n{program}"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


@pytest.mark.slow
def test_a_claim_is_checked_and_its_witness_replayed_outside_a_checkout(built, tmp_path):
    program = "import rankproof\nassert rankproof.main(['check', 'fedlrt/lemma-4']) == 0\n"
    program += "assert rankproof.main(['replay', 'fedlrt/eq-40']) == 0\nprint(rankproof.__file__)"
    done = outside(built, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "every verdict as recorded" in done.stdout
    assert "confirmed" in done.stdout
    assert done.stdout.rstrip().endswith(f"{built.name}/rankproof.py")


@pytest.mark.slow
def test_stored_numbers_are_found_outside_a_checkout(built, tmp_path):
    program = (
        "from figures.figure import Settings\nfrom figures.ledger import select\n"
        "from figures.stored_numbers import stored_numbers\n"
        "(figure,) = select(['fedloru/tab-7'])\nprint(stored_numbers(figure, Settings('laptop'))['csv'][:5])"
    )
    done = outside(built, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
def test_a_paper_of_ones_own_is_written_checked_and_installed_outside_a_checkout(built, tmp_path):
    """As after `pip install`: the entry point, not the folder, adds the paper in the second process."""
    program = "import rankproof\nassert rankproof.main(['new-paper', 'outer-paper', '--out', 'outer']) == 0\n"
    program += "assert rankproof.main(['check', '--papers', 'outer', 'outer-paper/', '--jobs', '2']) == 0"
    done = outside(built, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 statements and numbers (7 hold, 1 is corrected) + 2 algorithms and experiments" in done.stdout
    project = tomllib.loads((tmp_path / "outer" / "pyproject.toml").read_text())["project"]
    information = tmp_path / "outer" / "outer_paper-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    ((group, points),) = project["entry-points"].items()
    (information / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(map(" = ".join, points.items())))
    program = f"sys.path.append({str(tmp_path / 'outer')!r})\nimport rankproof\n"
    program += "assert rankproof.main(['replay', 'outer-paper/lem-2']) == 0"
    done = outside(built, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "outer-paper/lem-2: witness confirmed" in done.stdout


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The metadata of a built distribution."""
    copy = tmp_path_factory.mktemp("metadata")
    for name in ("rankproof.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(copy)]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return email.message_from_string((copy / "rankproof.egg-info" / "PKG-INFO").read_text())


def test_built_metadata_say_for_whom_it_is_and_on_what_it_runs(metadata):
    classifiers = metadata.get_all("Classifier")
    assert {"Typing :: Typed", "Intended Audience :: Science/Research"} <= set(classifiers)
    assert any(one.startswith("Topic :: Scientific/Engineering") for one in classifiers)
    assert not [one for one in classifiers if one.startswith("License ::")]  # the SPDX expression says it
    assert metadata["License-Expression"] == "Apache-2.0"
    (versions,) = re.findall(r"python-version: (\[.*\])", (ROOT / ".github" / "workflows" / "checks.yml").read_text())
    named = [one.rpartition(" ")[2] for one in classifiers if re.fullmatch(r"Programming.*:: 3\.\d+", one)]
    assert named == json.loads(versions)
    assert all((ROOT / room / "py.typed").is_file() for room in ROOMS)


def test_built_metadata_have_the_keywords_that_are_cited_and_no_address_that_is_not(metadata):
    cited = (ROOT / "CITATION.cff").read_text()
    keywords = metadata["Keywords"].split(",")
    assert set(re.findall(r"^  - (.*)$", cited.partition("keywords:")[2], flags=re.M)) <= set(keywords)
    for address in metadata.get_all("Project-URL") or []:
        assert address.partition(", ")[2] in cited


def test_pre_commit_formats_with_the_version_of_the_house():
    named = set(re.findall(r"ruff==[\d.]+", (ROOT / ".pre-commit-config.yaml").read_text()))
    assert named == set(re.findall(r"^ruff==[\d.]+", (ROOT / "constraints.txt").read_text(), flags=re.M))
    assert named


def test_workflows_run_the_oldest_python_that_the_package_names():
    (oldest,) = re.findall(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    (versions,) = re.findall(r"python-version: (\[.*\])", (ROOT / ".github" / "workflows" / "checks.yml").read_text())
    assert json.loads(versions)[0] == oldest


def test_version_and_licence_are_cited_as_they_are():
    project = (ROOT / "pyproject.toml").read_text()
    cited = (ROOT / "CITATION.cff").read_text()
    (version,) = re.findall(r'^version = "(.+)"', project, flags=re.M)
    assert f"\nversion: {version}\n" in cited
    assert re.search(rf"^## {re.escape(version)} \(", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", cited, flags=re.M)
