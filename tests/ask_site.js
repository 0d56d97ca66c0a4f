// node ask_site.js SITE QUERY...: what the site's own search worker answers, as JSON: for each query its results.
"use strict";
const [fs, path, vm] = ["fs", "path", "vm"].map((name) => require(name));
const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, "assets", "javascripts", "workers");
const load = (file) => vm.runInThisContext(fs.readFileSync(path.join(workers, file), "utf-8"));
let listener, answered;
globalThis.self = globalThis;
globalThis.importScripts = load;
globalThis.addEventListener = (_, given) => { listener = given; };
globalThis.postMessage = (message) => answered(message);
load(fs.readdirSync(workers).find((name) => /^search\..*\.min\.js$/.test(name)));
const ask = (message) => new Promise((resolve) => { answered = resolve; listener({ data: message }); });

(async () => {
  const { config, docs } = JSON.parse(fs.readFileSync(path.join(site, "search", "search_index.json"), "utf-8"));
  await ask({ type: 0, data: { config, docs, options: {} } });
  const found = {};
  for (const query of queries) {
    const { data } = await ask({ type: 2, data: query });
    found[query] = data.items.map((sections) => sections.map(({ location, title, score }) => [location, title, score]));
  }
  console.log(JSON.stringify(found));
})();
