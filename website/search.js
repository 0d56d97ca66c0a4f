"use strict";
// Material's search worker asked for all words of a query at once; only if nothing has all of them, for any of them.
// The build writes this file in the place of that worker and names the worker here.
const [SETUP, QUERY] = [0, 2];
const MOST = 10; // pages in an answer: the best ones
const ASKING = new Set("do does hold holds how is it say says that the true what where which why".split(" "));
let handle, answered, separator;
let busy = Promise.resolve();

const [listen, post] = [self.addEventListener.bind(self), self.postMessage.bind(self)];
self.addEventListener = (_, listener) => { handle = listener; };
self.postMessage = (message) => answered(message);
importScripts("MATERIAL");

const ask = (message) => new Promise((resolve) => { answered = resolve; handle({ data: message }); });

// The forms of a query in the order in which they are tried. The last word may be unfinished, unless it has a digit.
function forms(query) {
  if (/["+*~^]|(^|\s)-/.test(query)) return [query];
  const words = query.toLowerCase().split(separator).filter((word) => word && lunr.stopWordFilter(word) && !ASKING.has(word));
  if (!words.length) return [query];
  const exact = words.map((word) => `+${word}`);
  const open = [...exact.slice(0, -1), /\d/.test(words.at(-1)) ? exact.at(-1) : `${exact.at(-1)}*`];
  return [...new Set([exact.join(" "), open.join(" "), words.join(" ")])];
}

async function answer({ type, data }) {
  if (type === SETUP) separator = new RegExp(data.config.separator);
  if (type !== QUERY) return ask({ type, data });
  let found;
  for (const form of forms(data)) {
    found = await ask({ type, data: form });
    if (found.data.items.length) break;
  }
  found.data.items.splice(MOST);
  return found;
}

listen("message", ({ data }) => { busy = busy.then(async () => post(await answer(data))); });
