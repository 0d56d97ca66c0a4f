"use strict";
// What a query finds among items: claims, findings and figures, each with its names, title and text in lower case.
const ASKING = new Set("a an and are can do does for from hold holds how if in is it of on or paper say says that the to true what where which why with".split(" "));
const MISSING = 20;

function finder({ kinds, fillers, papers, known }, items) {
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

  // How well an item is called so in one paper: 0 is best.
  function rank(item, paper, { kind, sought, more }) {
    let best = 9;
    for (const [from, of, own, words, label] of item.names) {
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
      const ranks = items.map((item) => rank(item, paper, name));
      const best = Math.min(9, ...ranks);
      if (best < 9) items.forEach((item, i) => { if (ranks[i] === best) found.add(item); });
    }
    return found;
  }

  // Items of the same kind whose first numbers are nearest to those of a name that no item has.
  function nearest({ papers: from, kind, sought }) {
    const far = (own) => {
      const at = sought.findIndex((one, i) => one !== own[i]);
      if (at < 0) return own.length - sought.length;
      const [a, b] = [own[at], sought[at]];
      return 1000 * (Math.max(own.length, sought.length) - at) + (/\d/.test(a) && /\d/.test(b) ? Math.abs(a - b) : 999);
    };
    const near = [];
    for (const item of items) {
      const own = item.names.filter(([paper, of, num, , label]) => label && num.length && from.includes(paper)
        && (of === kind || num.join() === sought.join()));
      if (own.length) near.push([Math.min(...own.map(([, of, num, words]) => far(num) + (of !== kind) + words.length / 10)), item]);
    }
    return near.sort((a, b) => a[0] - b[0]).slice(0, 4).map(([, item]) => item);
  }

  const all = (item) => `${item.title} ${item.text} ${item.more}`;

  // The items that are called so, or else those with all words; a number matches as a whole: 4 is not 4.2.
  function matching(query) {
    const name = understood(query);
    const called = name && calledSo(name);
    if (called && called.size) return called;
    if (!/\d/.test(query)) return new Set(items.filter((item) => query.split(/\s+/).every((word) => all(item).includes(word))));
    const whole = new RegExp(`(?<![\\w.])${escaped(query)}(?!\\w|\\.\\d)`);
    return new Set(items.filter((item) => whole.test(all(item))));
  }

  // What a word costs in an item: little in its title, more in what is only about it.
  function cost(word, { title, text, more }) {
    const whole = new RegExp(`(?<![\\w.])${escaped(word)}(?!\\w|\\.\\d)`);
    const parts = [title, text, more];
    const at = parts.findIndex((part) => whole.test(part));
    const inside = /\d/.test(word) ? -1 : parts.findIndex((part) => part.includes(word));
    return Math.min(at < 0 ? MISSING : 2 * at, inside < 0 ? MISSING : 2 * inside + 1);
  }

  // The items that a query means, the best first: by id, by name with what explains or shows them, or by words.
  function ordered(query) {
    const lower = query.trim().toLowerCase();
    if (!lower) return [];
    const byWeight = (some) => [...some].sort((a, b) => a.weight - b.weight);
    const exact = items.filter(({ id }) => [id, id.split("/").at(-1), id.split(":").at(-1)].includes(lower));
    const name = understood(lower);
    const strict = name ? calledSo(name) : new Set();
    const called = strict.size || !name ? strict : calledSo({ ...name, more: [] });
    if (/^[a-z]?\.?\d+(\.\d+)*$/.test(lower)) {
      const sought = parts(lower).join();
      for (const item of items) if (item.names.some(([, , own, , label]) => label && own.join() === sought)) called.add(item);
    }
    const named = new Set([...exact.filter((item) => item.names.length), ...exact, ...byWeight(called)]);
    const ids = new Set([...named].map((item) => item.id));
    const related = items.filter((item) => item.of.some((id) => ids.has(id)));
    if (named.size) return [...new Set([...named, ...byWeight(related)])];
    const words = [...new Set(lower.match(/[^\W_]+(?:[.'-][^\W_]+)*/gu) || [])].filter((word) => !ASKING.has(word));
    const scored = items.map((item) => {
      const costs = words.map((word) => cost(word, item));
      const phrase = words.length > 1 ? [item.title, item.text].findIndex((part) => part.includes(words.join(" "))) : -1;
      const missing = costs.filter((one) => one === MISSING).length;
      return { item, missing, score: costs.reduce((sum, one) => sum + one, item.weight) - (phrase < 0 ? 0 : 2 - phrase) };
    });
    const least = Math.min(...scored.map(({ missing }) => missing));
    if (!words.length || (name ? least : 2 * least >= words.length)) return [];
    return scored.filter(({ missing }) => missing === least).sort((a, b) => a.score - b.score).map(({ item }) => item);
  }

  return { understood, nearest, matching, ordered };
}
