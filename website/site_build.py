"""Build the site into a folder: the files of the last site are replaced, and all others stay.

MkDocs empties the folder that it builds into. It therefore builds into a temporary one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from workloads.files import require_writable
from workloads.processes.locks import lock_folder
from workloads.written import FolderRecord

ROOT = Path(__file__).resolve().parent.parent
MKDOCS = ("-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", "website/mkdocs.yml", "--site-dir")


def publish(built: Path, site: Path) -> None:
    """Write a built site into a folder, and remove files of the last site that are not in it.

    Args:
        built: The folder of the built site.
        site: The folder, which may hold other files.

    Raises:
        ForeignFileError: It holds a file that the site has too, and that this function did not write.
        OSError: A file cannot be written; none has been changed then.
    """
    files = {site / path.relative_to(built): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    require_writable(site)
    with lock_folder(site, wait=True):
        record = FolderRecord(site)
        for folder in sorted({path.parent for path in files}):
            folder.mkdir(parents=True, exist_ok=True)
        record.write(files)
        removed = record.remove({site / name for name, _, _ in record.lines()} - files.keys())
        for folder in sorted({folder for path in removed for folder in path.parents}, reverse=True):
            if folder.is_relative_to(site):
                with suppress(OSError):  # it holds other files
                    folder.rmdir()
        record.shorten()


def main() -> int:
    """Build the site into the folder that is asked for, or into `site/`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "site", help="default: site/")
    site = parser.parse_args().folder
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": "website"}
    try:
        FolderRecord(site).require([site / "index.html"])
        with TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, *MKDOCS, folder], cwd=ROOT, check=False, env=environment)
            if done.returncode == 0:
                publish(Path(folder), site)
    except OSError as error:
        remedy = f"; move {site} away, or build into another folder" if isinstance(error, FileExistsError) else ""
        print(f"{error.filename}: {error.strerror}{remedy}", file=sys.stderr)
        return 2
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
