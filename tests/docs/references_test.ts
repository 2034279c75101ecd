/**
 * What the pages say of the source is so: files, headings, messages, events, metrics, packages.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { readdir, readFile, stat } from "node:fs/promises";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { shownBounds } from "../../protocol/event_table.ts";
import * as events from "../../protocol/events.ts";
import { checkVersion } from "../../protocol/handshake.ts";
import { ErrorCode, PROFILES } from "../../protocol/mod.ts";
import { unknownTo } from "../../protocol/profiles.ts";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import { HOUSE } from "../../tools/lint/layering_rules.ts";
import { ROLE_LAYERS } from "../../tools/lint/role_layers.ts";
import { unknownNpxWords } from "../support/npx_words.ts";
import { exampleCode, readPages } from "./support/blocks.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = await readPages();
const pageOf = (name: string) => pages.get(name) ?? "";
const read = (path: string) => readFile(root + path, "utf8");
const isThere = (path: string): Promise<boolean> =>
  stat(root + path).then(() => true, () => false);

/** Every text of a kind below a folder, by its path. */
async function* texts(
  folder: string,
  wanted: RegExp,
  leftOut: readonly string[] = [],
): AsyncGenerator<[path: string, text: string]> {
  for (const entry of await readdir(root + folder, { withFileTypes: true })) {
    const path = folder + entry.name;
    if (entry.isDirectory() && !leftOut.includes(entry.name)) {
      yield* texts(`${path}/`, wanted, leftOut);
    } else if (entry.isFile() && wanted.test(path)) {
      yield [path, await read(path)];
    }
  }
}

/** The first groups of all matches. */
const groupsOf = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, group = ""]) => group);

// ---------------------------------------------------------------- all pages

Deno.test("the documentation explains messages that exist in the source", async () => {
  const folders = "agent client cli computer mcp protocol server shared tools";
  let source = "";
  for (const folder of folders.split(" ")) {
    for await (const [, text] of texts(`${folder}/`, /\.ts$/)) source += text;
  }
  const items = /^- (`[^`]+`(?:,\s+`[^`]+`)*)/gm; // each begins with one message, or several
  const quoted = groupsOf(pageOf("docs/troubleshooting.md"), items)
    .flatMap((messages) => groupsOf(messages, /`([^`]+)`/g))
    .map((text) => text.replaceAll(/\s+/g, " "))
    .filter((message) => !message.startsWith("Requires run access")); // Deno's
  assert(quoted.length > 25, `${quoted.length}`);
  // The variable parts of a message: names, numbers, and nested messages.
  const unknown = quoted.filter((message) =>
    !message.split(/"[^"]*"|…|: |\b\d+\b/).every((part) =>
      source.includes(part)
    )
  );
  assertEquals(unknown, []);
});

/** What GitHub makes of the headings of a page. */
const anchorsOf = (page: string): string[] =>
  groupsOf(page, /^#+ (.*)$/gm).map((heading) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  );

Deno.test("every link of the pages leads to a file, and to a heading that it has", async () => {
  const broken: string[] = [];
  let anchors = 0;
  for (const [page, text] of pages) {
    for (const link of groupsOf(text, /\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : posix.join(posix.dirname(page), path);
      if (!await isThere(target)) broken.push(`${page}: ${link}`);
      if (anchor === undefined) continue;
      anchors++;
      const headings = anchorsOf(pageOf(target));
      if (!headings.includes(anchor)) broken.push(`${page}: ${link}`);
    }
  }
  assert(anchors > 20);
  assertEquals(broken, []);
});

Deno.test("the README is one that a newcomer reads to its end", () => {
  const words = pageOf("README.md").split(/\s+/).length;
  assert(words > 100 && words <= 900, `${words} words`);
});

// `npx NAME` runs whatever somebody has published under that name.
Deno.test("npx is asked for packages of ours or well-known ones alone, in every page, message and help", async () => {
  // What no reader or user sees, and what others have made.
  const leftOut = ["tests", "bench", "dist", "node_modules", ".git", "links"];
  const wanted =
    /\.(md|ts|tsx|js|mjs|json|html|css|sh|py|service|plist)$|\/run$/;
  const unknown: string[] = [];
  let count = 0;
  for await (const [path, text] of texts("", wanted, leftOut)) {
    // Of the comments in a program only the code that they quote.
    const shown = path.endsWith(".md") ? text : text.replaceAll(
      /\/\*[^]*?\*\/|(?<!:)\/\/.*$/gm,
      (comment) => comment.match(/`[^`]*`/g)?.join("\n") ?? "",
    );
    const words = unknownNpxWords(shown);
    unknown.push(...words.map((word) => `${path}: npx ${word}`));
    count++;
  }
  assertEquals(unknown, []);
  assert(count > 300, `${count}`);
});

Deno.test("unknownNpxWords() finds the package in command lines and configurations", () => {
  const rows: [text: string, words: string[]][] = [
    ["run `npx smcp up`", ["smcp"]],
    ["npx --no smcp up", ["smcp"]],
    ["| npx -y smcp-agent |", ["smcp-agent"]],
    ["npx.cmd --yes -p smcp smcp-agent", ["smcp"]],
    ['"command": "npx",\n  "args": ["-y", "smcp"]', ["smcp"]],
    ['{ command: "npx", args: ["files"] }', ["files"]],
    ["npx -p @a2c-smcp/cli smcp up", []],
    ["npx -p @a2c-smcp/cli@0.2.0 smcp up", []],
    ["npx -y deno task demo", []],
    ["npx -y @modelcontextprotocol/server-memory@2026.8.31", []],
    ["with `npx`, or globally", []],
    ["--allow-run=npx main.ts", []],
  ];
  for (const [text, words] of rows) {
    assertEquals(unknownNpxWords(text), words, text);
  }
});

// ---------------------------------------------------------------- docs/architecture.md

const PAGE = "docs/architecture.md";

Deno.test("the paths that the pages for newcomers name are there", async () => {
  const tops = [...HOUSE, "tests", "tools", "bench", "docs"].join("|");
  const path = new RegExp(`(?<![\\w./-])(?:${tops})/[\\w./-]*(?<!\\.)`, "g");
  for (const page of [PAGE, "CONTRIBUTING.md"]) {
    const paths = pageOf(page).match(path) ?? [];
    assert(paths.length > 10, page);
    const missing: string[] = [];
    for (const path of paths) if (!await isThere(path)) missing.push(path);
    assertEquals(missing, [], page);
  }
});

Deno.test("a file that the page names without its folder is beside the one before it, or at the top", async () => {
  let folder = "";
  const missing: string[] = [];
  const names = pageOf(PAGE).matchAll(
    /(?<![\w./-])((?:\w+\/)*)(\w+\.ts)\b/g,
  );
  for (const [, path = "", name = ""] of names) {
    if (path !== "") folder = path;
    else if (!await isThere(folder + name) && !await isThere(name)) {
      missing.push(`${name} after ${folder}`);
    }
  }
  assertEquals(missing, []);
});

Deno.test("the page names each folder of the package, and each room of the roles", () => {
  const rooms = Object.entries(ROLE_LAYERS).flatMap(([role, layers]) =>
    layers.filter((layer) => !layer.includes(".")) // files, and the top folder
      .map((layer) => `${role}/${layer}`)
  );
  assert(rooms.length > 20);
  const missing = [...HOUSE, ...rooms].filter((room) =>
    !pageOf(PAGE).includes(`${room}/`)
  );
  assertEquals(missing, []);
});

// ---------------------------------------------------------------- docs/protocol.md

/** The text of one numbered section. */
function section(number: number): string {
  const [, text] = RegExp(`^## ${number}\\. .*\n([^]*?)(?=^## |$(?![^]))`, "m")
    .exec(pageOf("docs/protocol.md")) ?? [];
  assert(text !== undefined, `There is no section ${number}`);
  return text;
}

Deno.test("docs/protocol.md lists every event, and no other", () => {
  const listed = section(3).match(/\b(?:client|server|notify):\w+/g);
  const known = Object.entries(events).filter(([name]) =>
    /_(EVENT|NOTIFICATION)$/.test(name)
  ).map(([, event]) => String(event));
  assert(known.length > 20);
  assertEquals([...new Set(listed)].toSorted(), known.toSorted());
});

Deno.test("docs/protocol.md tells what every error code means", () => {
  const text = section(6);
  for (const [name, code] of Object.entries(ErrorCode)) {
    assert(RegExp(`\\b${code}\\b`).test(text), `${code} (${name})`);
  }
});

Deno.test("docs/protocol.md lists what each version lacks, and the error of a Computer that lacks it (protocol §14)", () => {
  const text = section(14);
  for (const version of PROTOCOL_NAMES) {
    const [row = ""] = text.match(
      RegExp(`^\\| (?:0\\.\\d, )*${RegExp.escape(version)}[, ].*$`, "m"),
    ) ?? [];
    const listed = row.match(/(?<=`)(?:client|server|notify):\w+(?=`)/g) ?? [];
    assertEquals(
      listed.toSorted(),
      [...PROFILES[version].lacks].map(String).toSorted(),
      version,
    );
  }
  const { message } = unknownTo("laptop", PROFILES["0.2"], "client:put_blob");
  assert(text.replaceAll(/\s+/g, " ").includes(`400 \`${message}\``), message);
});

Deno.test("docs/protocol.md shows the body that refuses another version", async () => {
  const body = JSON.parse(await exampleCode("version-mismatch"));
  const check = checkVersion(["0.1.5"], "0.2.0");
  assert(!check.ok);
  assertEquals(JSON.stringify(body), JSON.stringify(check.body));
});

// ---------------------------------------------------------------- docs/scaling.md

Deno.test("docs/scaling.md quotes messages and metrics that exist", async () => {
  const page = pageOf("docs/scaling.md");
  const [, list = ""] = page.split("## What each failure looks like");
  const [items = ""] = list.split("## Runbook");
  const quoted = items.split(/^- /m).slice(1).flatMap((item) => {
    const [, log = ""] = /Log:\s([^]*?)\.(?:\s+Metrics:|\n|$)/.exec(item) ?? [];
    return groupsOf(log, /`([^`]+)`/g);
  }).map((text) => text.replaceAll(/\s+/g, " "));
  const log = await read("server/cluster/node_log.ts");
  assert(quoted.length > 8);
  assertEquals(quoted.filter((text) => !log.includes(text)), []);

  const metrics = await read("server/observe/prometheus.ts");
  const names = groupsOf(page, /smcp_cluster_(\w+)/g);
  assert(names.length > 10);
  assertEquals(names.filter((name) => !metrics.includes(`"${name}"`)), []);
});

Deno.test("docs/scaling.md lists the rights that the source lists", async () => {
  const source = await read("server/cluster/redis/connect.ts");
  const listed = (await exampleCode("redis-acl")).match(/(?<= )\+\S+/g) ?? [];
  const wanted = ["everywhere", "one server"].flatMap((where) => {
    const row = RegExp(`\\| ${where} \\| \`([^\`]+)`).exec(source);
    return row?.[1]?.replaceAll("\\|", "|").split(" ") ?? [];
  });
  assert(listed.length > 10);
  assertEquals(listed.toSorted(), wanted.toSorted());
});

Deno.test("the security page has the bounds of every event, in the order of the table of events", () => {
  const shown = (count: number) =>
    count === Infinity ? "message" : count.toLocaleString("en-US");
  const rows = Object.entries(shownBounds(Infinity))
    .map(([event, { request, answer }]) => [
      `\`${event}\``,
      shown(request.bytes),
      shown(request.values),
      answer ? shown(answer.bytes) : "",
      answer ? shown(answer.values) : "",
    ]);
  const [, section = ""] = pageOf("docs/security.md")
    .split("\n## The bounds of events\n");
  const [page = ""] = section.split("\n## ");
  const table = page.split("\n").filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  assertEquals(table, rows);
});
