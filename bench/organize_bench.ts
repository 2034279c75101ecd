/** Measures organizing 5,000 resources of 20 MCP servers; has no limits to pass. */
import { organizeDesktop } from "../computer/resources/desktop.ts";
import { organizeFinder, readDocuments } from "../computer/resources/finder.ts";

const RESOURCES = 5_000;
const servers = Array.from({ length: 20 }, (_, i) => `server-${i}`);
const history = servers.filter((_, i) => i % 3 === 0);

const resources = Array.from({ length: RESOURCES }, (_, i) => ({
  server: servers[i % servers.length] ?? "",
  path: `host-${i % servers.length}.example/folder/item%20${i}`,
  annotations: {
    priority: (i % 101) / 100,
    audience: ["assistant"],
    lastModified: new Date(1.7e12 + (i * 7919 % RESOURCES) * 1e6)
      .toISOString(),
  },
}));
const windows = resources.map(({ server, path, annotations }, i) => ({
  server,
  resource: { uri: `window://${path}`, annotations },
  contents: [{ text: `the text of window ${i}` }],
}));
const documents = resources.map(({ server, path, annotations }, i) => ({
  server,
  resource: {
    uri: `dpe://${path}`,
    title: `Document ${i}`,
    description: "what it is about, in a sentence of usual length",
    annotations,
    _meta: { file_type: "pdf", page_count: i + 1, keywords: ["one", "two"] },
  },
}));

const work: Record<string, () => unknown> = {
  "organizeDesktop(), all": () =>
    organizeDesktop(windows, undefined, history, []),
  "organizeDesktop(), the first 10": () =>
    organizeDesktop(windows, 10, history, []),
  "organizeFinder(), the first page": () =>
    organizeFinder(readDocuments(documents, []), {}, history),
  "organizeFinder(), by keyword": () =>
    organizeFinder(
      readDocuments(documents, []),
      { keywords: ["49", "nothing"] },
      history,
    ),
};

for (const [name, run] of Object.entries(work)) {
  const times = Array.from({ length: 50 }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  const median = (times[25] ?? 0) * 1_000 / RESOURCES;
  console.log(`${name}: ${median.toFixed(2)} µs a resource`);
  Deno.bench(`${name}, ${RESOURCES} resources`, () => void run());
}
