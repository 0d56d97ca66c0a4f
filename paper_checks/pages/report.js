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

  const { kinds, fillers, papers, known } = JSON.parse(byId("filter").dataset.words);
  const names = new Map(cards.map((card) => [card, JSON.parse(card.dataset.names)]));
  const escaped = (words) => words.replace(/[.*+?^${}()|[\]\\§]/g, "\\$&");
  const number = String.raw`\(?(?:[a-z][\s._-]?)?\d+(?:[._-]\d+)*(?:[a-z]|\s?\([a-z]\)|\s[a-z]\))?(?![a-z0-9])\)?`;
  const asked = new RegExp(String.raw`(?<![a-z])(${Object.keys(kinds).sort((a, b) => b.length - a.length).map(escaped).join("|")})`
    + String.raw`[\s._\-/:#()]*(${number}|[a-z](?![a-z0-9]))?`);
  const bare = new RegExp(String.raw`\(${number}\)`);
  const parts = (text) => (text.match(/\d+|[a-z]/g) || []).map((part) => (/\d/.test(part) ? String(Number(part)) : part));

  // The parts of a name such as "Thm. 2 of FeDLRT", as paper_checks/names.py reads it; null where it is none.
  function understood(query) {
    let rest = query.replace(/–/g, "-");
    let meant = null;
    const spellings = Object.entries(papers).flatMap(([paper, some]) => some.map((one) => [one, paper]));
    for (const [spelling, paper] of spellings.sort((a, b) => b[0].length - a[0].length)) {
      const letters = [...spelling.toLowerCase().replace(/[\W_]/g, "")].map(escaped).join("[\\s._-]*");
      const found = new RegExp(`(?<![a-z0-9])${letters}(?![a-z0-9])`).exec(rest);
      if (!found) continue;
      meant = known.filter((one) => one === paper || one.startsWith(`${paper}-`));
      rest = rest.replace(found[0], " ");
      break;
    }
    for (const paper of (meant || known).filter((one) => one.includes("-"))) {
      const version = paper.slice(paper.lastIndexOf("-") + 1);
      const found = new RegExp(`(?<![a-z0-9])${escaped(version).replace(/^v(?=\d)/, "v(?:ersion)?[\\s._-]*")}(?![a-z0-9])`).exec(rest);
      if (!found) continue;
      meant = (meant || known).filter((one) => one.endsWith(`-${version}`));
      rest = rest.replace(found[0], " ");
      break;
    }
    const found = asked.exec(rest);
    const alone = found ? null : bare.exec(rest);
    if (!found && !alone) return null;
    rest = rest.replace((found || alone)[0], " ");
    const more = (rest.match(/[a-z0-9]+/g) || []).filter((word) => !fillers.includes(word));
    const sought = parts((found ? found[2] : alone[0]) || "");
    if (!sought.length || more.some((word) => /\d/.test(word))) return null;
    return { papers: meant || known, kind: found ? kinds[found[1]] : "eq", sought, more };
  }

  // How well a card is called so in one paper: 0 is best.
  function rank(card, paper, { kind, sought, more }) {
    let best = 9;
    for (const [from, of, own, words, label] of names.get(card)) {
      if (from !== paper || of !== kind || more.some((word) => !words.includes(word))) continue;
      const part = words.length && !more.length;
      const same = own.length === sought.length && own.every((one, i) => one === sought[i]);
      const begins = own.length > sought.length && sought.every((one, i) => one === own[i]);
      if (kind === "sec") best = Math.min(best, same || begins ? 0 : 9);
      else if (same) best = Math.min(best, label ? (part ? 3 : 0) : 2);
      else if (label && begins && own.length === sought.length + 1 && /[a-z]/.test(own.at(-1))) best = Math.min(best, part ? 3 : 1);
    }
    return best;
  }

  function calledSo(name) {
    const found = new Set();
    for (const paper of name.papers) {
      const ranks = cards.map((card) => rank(card, paper, name));
      const best = Math.min(...ranks);
      if (best < 9) cards.forEach((card, i) => { if (ranks[i] === best) found.add(card); });
    }
    return found;
  }

  // Cards of the same kind whose first numbers are nearest to those of a name that no card has.
  function nearest({ papers: from, kind, sought }) {
    const far = (own) => {
      const at = sought.findIndex((one, i) => one !== own[i]);
      if (at < 0) return own.length - sought.length;
      const [a, b] = [own[at], sought[at]];
      return 1000 * (Math.max(own.length, sought.length) - at) + (/\d/.test(a) && /\d/.test(b) ? Math.abs(a - b) : 999);
    };
    const near = [];
    for (const card of cards) {
      const own = names.get(card).filter(([paper, of, num, , label]) => label && num.length && from.includes(paper)
        && (of === kind || num.join() === sought.join()));
      if (own.length) near.push([Math.min(...own.map(([, of, num, words]) => far(num) + (of !== kind) + words.length / 10)), card]);
    }
    return near.sort((a, b) => a[0] - b[0]).slice(0, 4).map(([, card]) => card);
  }

  // A text that is not a name is searched in the words of the cards; a number matches as a whole: 4 is not 4.2.
  function finder(query) {
    const name = understood(query);
    const called = name && calledSo(name);
    if (called && called.size) return (card) => called.has(card);
    if (!/\d/.test(query)) return (card) => query.split(/\s+/).every((word) => words.get(card).includes(word));
    const whole = new RegExp(`(?<![\\w.])${escaped(query)}(?!\\w|\\.\\d)`);
    return (card) => whole.test(words.get(card));
  }

  function apply() {
    const query = text.value.trim().toLowerCase();
    const wanted = finder(query);
    const shown = new Set();
    for (const card of cards) {
      const { verdict: found, paper: from, importance: weight } = card.dataset;
      const fits = (!verdict.value || verdict.value === found) && (!paper.value || paper.value === from)
        && (!importance.value || importance.value === weight) && wanted(card);
      card.hidden = !fits;
      if (fits) shown.add(card.id);
    }
    for (const pointer of pointers) pointer.classList.toggle("out", !shown.has(pointer.dataset.claim));
    for (const group of groups) group.hidden = !group.querySelector("article.card:not([hidden])");
    byId("filter-count").textContent = shown.size === cards.length ? "" : `${shown.size} of ${cards.length}`;
    first.textContent = shown.size === 1 ? "go to it" : `first of ${shown.size}`;
    const found = cards.filter((card) => shown.has(card.id));
    const begins = found.filter((card) => called.get(card)[0].startsWith(query));
    const inside = [0, 1].map((part) => found.find((card) => called.get(card)[part].includes(query)));
    const top = begins[0] || inside[0] || inside[1] || found[0];
    first.hidden = !top || shown.size === cards.length;
    if (top) first.href = `#${top.id}`;
    const name = shown.size ? null : understood(query);
    propose(shown.size ? null : name ? nearest(name) : []);
  }

  // Says that nothing matches, with links to the cards that come nearest.
  function propose(some) {
    const place = byId("filter-near");
    place.textContent = some === null ? "" : some.length ? "no match, try " : "no match";
    for (const card of some || []) {
      const link = document.createElement("a");
      link.href = `#${card.id}`;
      link.textContent = card.id;
      place.append(link, " ");
    }
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
