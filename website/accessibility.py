"""Accessibility of built pages: axe-core in headless Chrome, wide and 390 px, light and dark; violations are printed.

``python website/accessibility.py report/*.html site/index.html``; the status is 1 if a page has a violation. A
report takes minutes, because all its folded parts are opened.
Needs the Python package selenium, Chrome or Chromium with its driver, and the npm package axe-core: its folder
``node_modules`` here, or the file as ``--axe``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WIDTHS = (1200, 390)
SCHEMES = ("light", "dark")
AXE = Path("node_modules/axe-core/axe.min.js")
SHOWN = 3
"""Elements that are shown of each violation."""
MINUTES = 10
"""For one view of one page."""

OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"
DRAW = """document.head.append(
  Object.assign(document.createElement("style"), {textContent: "* {content-visibility: visible !important}"})
)"""
RUN = "axe.run({resultTypes: ['violations']}).then(arguments[0], error => arguments[0]({error: String(error)}))"


def missing(axe: Path) -> list[str]:
    """Return the programs that have to be installed."""
    told = [] if find_spec("selenium") else ["the Python package selenium (pip install selenium)"]
    told += [] if _browser() else ["Chrome or Chromium (Debian: apt-get install chromium)"]
    told += [] if shutil.which("chromedriver") else ["chromedriver (Debian: apt-get install chromium-driver)"]
    return told + ([] if axe.is_file() else [f"axe-core, looked for at {axe} (npm install axe-core)"])


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)


def browser() -> Any:
    """Open a headless browser."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = _browser() or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(60 * MINUTES)
    return driver


def views(driver: Any, page: Path, axe: str) -> Iterator[tuple[int, str, list[dict[str, Any]]]]:
    """Yield width, scheme and violations of a page with all folded parts open."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            driver.get(page.resolve().as_uri())
            for script in (OPEN, DRAW, axe):
                driver.execute_script(script)
            found = driver.execute_async_script(RUN)
            if "error" in found:
                raise RuntimeError(f"{page}: axe-core failed: {found['error']}")
            yield width, scheme, found["violations"]


def describe(violation: dict[str, Any]) -> str:
    """Describe a violation, its number of elements, and the first of them."""
    nodes = violation["nodes"]
    lines = [f"  {violation['impact']}: {violation['id']}, {violation['help']} ({len(nodes)})"]
    lines += [f"    {' '.join(map(str, node['target']))}: {node['html'][:160]}" for node in nodes[:SHOWN]]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the named pages; return 0 without a violation, 1 with one, 2 if something is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pages", nargs="+", type=Path, help="built pages, such as report/index.html")
    parser.add_argument("--axe", type=Path, default=AXE, help=f"axe.min.js of axe-core (default: {AXE})")
    options = parser.parse_args(arguments)
    needed = missing(options.axe)
    needed += [f"the page {page}, which is not built" for page in options.pages if not page.is_file()]
    if needed:
        print(f"accessibility: missing {'; '.join(needed)}", file=sys.stderr)
        return 2
    axe, count, driver = options.axe.read_text(encoding="utf-8"), 0, browser()
    try:
        for page in options.pages:
            for width, scheme, violations in views(driver, page, axe):
                print(f"{page}, {width} px, {scheme}: {len(violations) or 'no'} violation{'s'[: len(violations) != 1]}")
                for violation in violations:
                    print(describe(violation))
                count += len(violations)
    finally:
        driver.quit()
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
