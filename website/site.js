"use strict";
// What the theme draws by scripts, made usable by keyboard and by readers that speak: each group of buttons at a block
// of code gets a name of its own, and boxes that scroll sideways can be reached by the tab key. The first column of a
// table that scrolls stays in view, unless it is wide.
const SCROLLING = ".md-typeset__scrollwrap, .md-typeset .formula, " +
  ".md-typeset :is(p, blockquote):has(math), .md-typeset p:has(> img:only-child)";
const WIDE = .4; // of the box
let blocks = 0;

function improve() {
  for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    blocks += 1;
    nav.setAttribute("aria-label", `Code ${blocks}`);
  }
  for (const box of document.querySelectorAll(SCROLLING)) {
    const scrolls = box.scrollWidth > box.clientWidth;
    if (scrolls) box.tabIndex = 0;
    const first = box.querySelector("table th");
    if (first) box.classList.toggle("pinned", scrolls && first.offsetWidth < WIDE * box.clientWidth);
  }
}

new MutationObserver(improve).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", improve);
addEventListener("toggle", improve, true);
improve();
