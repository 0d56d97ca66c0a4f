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
  const first = byId("filter-first");
  const called = new Map(cards.map((card) => [card, [card.querySelector("h4").textContent, card.querySelector("header").textContent]
    .map((words) => words.toLowerCase())]));

  // Words with a number, such as "Theorem 4", are one name: Theorem 4.2 is another.
  function finder(query) {
    if (!/\d/.test(query)) return (content) => query.split(/\s+/).every((word) => content.includes(word));
    const name = new RegExp(`(?<![\\w.])${query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w|\\.\\d)`);
    return (content) => name.test(content);
  }

  function apply() {
    const wanted = finder(text.value.trim().toLowerCase());
    const shown = new Set();
    for (const card of cards) {
      const { verdict: found, paper: from, importance: weight } = card.dataset;
      const fits = (!verdict.value || verdict.value === found) && (!paper.value || paper.value === from)
        && (!importance.value || importance.value === weight) && wanted(words.get(card));
      card.hidden = !fits;
      if (fits) shown.add(card.id);
    }
    for (const pointer of pointers) pointer.classList.toggle("out", !shown.has(pointer.dataset.claim));
    for (const group of groups) group.hidden = !group.querySelector("article.card:not([hidden])");
    byId("filter-count").textContent = shown.size === cards.length ? "" : `${shown.size} of ${cards.length}`;
    first.textContent = shown.size === 1 ? "go to it" : `first of ${shown.size}`;
    const found = cards.filter((card) => shown.has(card.id));
    const begins = found.filter((card) => called.get(card)[0].startsWith(text.value.trim().toLowerCase()));
    const nearest = [[begins, 0], [found, 0], [found, 1]].map(([some, part]) => some.find((card) => wanted(called.get(card)[part])))
      .find(Boolean) || found[0];
    first.hidden = !nearest || shown.size === cards.length;
    if (nearest) first.href = `#${nearest.id}`;
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
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && !first.hidden) first.click(); });
  window.addEventListener("hashchange", reveal);
  byId("filter").hidden = false;
  apply();
  if (location.hash) reveal();
})();
