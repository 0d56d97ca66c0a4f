"use strict";
// Filters cards, rows and cells by what they say, and lets keys scroll what is too wide. Without it the page is complete.
(() => {
  const byId = (id) => document.getElementById(id);
  const cards = [...document.querySelectorAll("article.card")];
  const pointers = [...document.querySelectorAll("[data-claim]")];
  const groups = [...document.querySelectorAll("section.theme")];
  const words = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  const fields = ["text", "verdict", "paper", "importance"].map((name) => byId(`filter-${name}`));
  const [text, verdict, paper, importance] = fields;

  function apply() {
    const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set();
    for (const card of cards) {
      const { verdict: found, paper: from, importance: weight } = card.dataset;
      const fits = (!verdict.value || verdict.value === found) && (!paper.value || paper.value === from)
        && (!importance.value || importance.value === weight) && wanted.every((word) => words.get(card).includes(word));
      card.hidden = !fits;
      if (fits) shown.add(card.id);
    }
    for (const pointer of pointers) pointer.classList.toggle("out", !shown.has(pointer.dataset.claim));
    for (const group of groups) group.hidden = !group.querySelector("article.card:not([hidden])");
    byId("filter-count").textContent = shown.size === cards.length ? "" : `${shown.size} of ${cards.length}`;
  }

  // A link to a card that is filtered out, or lies in a folded part, shows it.
  function reveal() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) {
      for (const field of fields) field.value = "";
      apply();
    }
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  }

  const wide = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const one of document.querySelectorAll(".statement, .says, .findings td:nth-child(2), pre")) wide.observe(one);

  for (const field of fields) field.addEventListener("input", apply);
  window.addEventListener("hashchange", reveal);
  byId("filter").hidden = false;
  apply();
  if (location.hash) reveal();
})();
