"use strict";
// What the theme draws by scripts, made usable by keyboard and by readers that speak: each group of buttons at a block
// of code gets a name of its own, and boxes that scroll sideways can be reached by the tab key.
const SCROLLING = ".md-typeset__scrollwrap, .md-typeset .formula, .md-typeset p:has(math)";
let blocks = 0;

function improve() {
  for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    blocks += 1;
    nav.setAttribute("aria-label", `Code ${blocks}`);
  }
  for (const box of document.querySelectorAll(SCROLLING)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

new MutationObserver(improve).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", improve);
addEventListener("toggle", improve, true);
improve();
