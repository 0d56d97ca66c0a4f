"""Copies stored numbers of figures and the documentation into the wheel; everything else is in `pyproject.toml`."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

STORED = Path("docs/figures")
PLACE = "rankproof_stored"
"""Folder next to the packages of the wheel, where `figures.stored_numbers` looks outside a checkout."""

PAGES = "rankproof_docs"
"""Folder next to the packages of the wheel, where `rankproof help` looks outside a checkout."""


class WithStoredNumbers(build_py):
    """Builds the packages, and copies the tables and manifests that draw the stored figures, and the pages."""

    def run(self) -> None:
        """Build, then copy; an editable install reads the checkout and copies nothing."""
        super().run()
        if self.editable_mode:
            return
        for table in sorted(STORED.glob("*.csv")):
            for file in (table, table.with_suffix(".manifest.json")):
                self.mkpath(str(Path(self.build_lib, PLACE)))
                self.copy_file(str(file), str(Path(self.build_lib, PLACE, file.name)))
        for page in (Path("README.md"), *sorted(Path("docs").glob("*.md"))):
            self.mkpath(str(Path(self.build_lib, PAGES)))
            self.copy_file(str(page), str(Path(self.build_lib, PAGES, page.name)))


setup(cmdclass={"build_py": WithStoredNumbers})
