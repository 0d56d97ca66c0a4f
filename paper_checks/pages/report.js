// Lets readers search claims, findings and figures, filters cards, and lets keys scroll what is too wide. Without it the
// pages are complete.
(() => {
  const byId = (id) => document.getElementById(id);
  const pointers = [...document.querySelectorAll("[data-claim]")];
  const groups = [...document.querySelectorAll("section.theme")];
  const fields = ["text", "verdict", "paper", "importance"].map((name) => byId(`filter-${name}`));
  const [text, verdict, paper, importance] = fields;
  const [first, everywhere, hits] = [byId("filter-first"), byId("filter-all"), byId("hits")];
  const WEIGHTS = { result: 0, step: 1, detail: 2 };

  const items = [...document.querySelectorAll("article.card, [data-kind]")].map((element) => {
    const { names, kind = "", of = "", words = "" } = element.dataset;
    const title = element.querySelector("h4, .name");
    const weight = Object.keys(WEIGHTS).find((one) => element.classList.contains(one));
    return {
      element, id: element.id, names: JSON.parse(names), title: title.textContent.toLowerCase(), more: words.toLowerCase(),
      text: `${element.textContent} ${kind}`.toLowerCase(), of: of.split(" "),
      weight: weight ? WEIGHTS[weight] : kind.includes("finding") ? -1.5 : 1,
    };
  });
  const { understood, nearest, matching, ordered } = finder(JSON.parse(byId("filter").dataset.words), items);

  // Shows the cards that fit, and dims what points to others.
  function filter() {
    const query = text.value.trim().toLowerCase();
    const wanted = matching(query);
    const shown = new Set();
    const fits = (field, value) => !field || !field.value || field.value === value;
    for (const item of items) {
      const { verdict: found, paper: from, importance: weight } = item.element.dataset;
      item.element.hidden = !(fits(verdict, found) && fits(paper, from) && fits(importance, weight) && wanted.has(item));
      if (!item.element.hidden) shown.add(item.id);
    }
    for (const pointer of pointers) pointer.classList.toggle("out", !shown.has(pointer.dataset.claim));
    for (const group of groups) group.hidden = !group.querySelector("article.card:not([hidden])");
    byId("filter-count").textContent = shown.size === items.length ? "" : `${shown.size} of ${items.length}`;
    first.textContent = shown.size === 1 ? "go to it" : `best of ${shown.size}`;
    const top = ordered(query).find((item) => shown.has(item.id)) || items.find((item) => shown.has(item.id));
    first.hidden = !top || shown.size === items.length;
    if (top) first.href = `#${top.id}`;
    const name = shown.size ? null : understood(query);
    propose(shown.size ? null : name ? nearest(name) : []);
    if (everywhere) {
      everywhere.hidden = !query;
      everywhere.href = byId("filter").dataset.all + encodeURIComponent(query);
    }
  }

  // Says that nothing matches, with links to what comes nearest.
  function propose(some) {
    const place = byId("filter-near");
    place.textContent = some === null ? "" : some.length ? "no match, try " : "no match";
    for (const item of some || []) place.append(made("a", item.id, { href: `#${item.id}` }), " ");
  }

  // Lists what the query finds, the best first.
  function list() {
    const found = ordered(text.value);
    hits.hidden = !found.length;
    hits.replaceChildren(...found.slice(0, 12).map(({ element }) => {
      const [title, line, link] = [".name", ".short", "a[href]"].map((part) => element.querySelector(part));
      const hit = made("li", "");
      hit.append(made("a", title.textContent.trim(), { href: link.getAttribute("href") }), " ");
      hit.append(made("span", element.dataset.kind, { className: "soft small" }));
      if (line) hit.append(made("div", line.textContent, { className: "small" }));
      return hit;
    }));
    byId("filter-count").textContent = found.length ? `${found.length} found` : "";
    const name = understood(text.value.trim().toLowerCase());
    propose(found.length || !text.value.trim() ? null : name ? nearest(name) : []);
    first.hidden = !found.length;
    first.textContent = "go to the first";
    if (found.length) first.href = hits.querySelector("a").getAttribute("href");
  }

  function made(tag, words, properties = {}) {
    return Object.assign(document.createElement(tag), { textContent: words, ...properties });
  }

  const apply = hits ? list : filter;

  // Follows a link to what is on another page; a card that is filtered out, or lies in a folded part, is shown.
  function reveal() {
    let name;
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    if (hits && name.startsWith("q=")) {
      text.value = name.slice(2);
      apply();
      text.focus();
      return;
    }
    const target = byId(name);
    if (!target) return;
    const elsewhere = target.closest(".elsewhere");
    if (elsewhere) {
      const link = elsewhere.matches("a") ? elsewhere : elsewhere.querySelector("a[href]");
      location.replace(link.getAttribute("href").split("#")[0] + location.hash);
      return;
    }
    if (target.closest("[hidden]")) {
      for (const field of fields) if (field) field.value = "";
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

  if (items.length) {
    for (const field of fields) if (field) field.addEventListener("input", apply);
    text.addEventListener("keydown", (event) => { if (event.key === "Enter" && !first.hidden) first.click(); });
    byId("filter").hidden = false;
    apply();
  }
  window.addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
