import { configure, getTextFormatter, reset } from "@logtape/logtape";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type DpeResolver,
  localDirResolver,
  s3Resolver,
} from "../../../computer/mod.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import {
  next,
  resourceServers,
  set,
  subscribed,
} from "../../support/computer/resource_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startS3 } from "../../support/computer/s3.ts";
import { scratch } from "../../support/scratch.ts";

const text = (uri: string) => `${uri}\n\ntext of ${uri}`;

/** A document of three pages: one inline, two as separate contents. */
const MANIFEST = {
  "dpe://docs/report": [
    {
      uri: "dpe://docs/report",
      mimeType: "application/json",
      text: JSON.stringify({
        doc_ref: "report",
        uri: "dpe://docs/report",
        title: "The report",
        pages: [
          {
            page_index: 0,
            title: "Zero",
            elements: [{ element_id: "a", category: "Text", text: "inline" }],
          },
          { page_index: 1, uri: "dpe://docs/report/pages/1" },
          { page_index: 2, uri: "dpe://docs/report/pages/2" },
        ],
      }),
    },
    ...[1, 2].map((page_index) => ({
      uri: `dpe://docs/report/pages/${page_index}`,
      mimeType: "application/json",
      text: JSON.stringify({
        page_index,
        elements: [{
          element_id: `e${page_index}`,
          category: "Text",
          text: `page ${page_index}`,
        }],
      }),
    })),
  ],
};
const MARKDOWN = "# The report\n\n## Zero\n\ninline\n\npage 1\n\npage 2\n";

const docs = (over = {}) => ({
  name: "docs",
  resources: [{ uri: "dpe://docs/report", name: "report" }],
  contents: MANIFEST,
  ...over,
});

Deno.test({
  name:
    "get_desktop returns the windows of all subscribing servers, the most recently used server first (spec §8.1)",
  timeout: 120_000,
}, async () => {
  await using world = await startComputer(resourceServers(
    {
      name: "b",
      resources: [
        { uri: "window://b/low", annotations: { priority: 0.1 } },
        { uri: "dpe://b/document" },
        { uri: "window://b/high?x=1", annotations: { priority: 0.9 } },
        { uri: "window://b/gone", annotations: { priority: 1.5 } },
        { uri: "window://b/bytes" },
      ],
      contents: {
        "window://b/gone": null,
        "window://b/bytes": [{ uri: "window://b/bytes", blob: "AAAA" }],
        "window://b/high?x=1": [{ uri: "x", text: "1" }, {
          uri: "y",
          text: "2",
        }],
      },
    },
    {
      name: "a",
      resources: [
        { uri: "window://a/1" },
        { uri: "window://a/2", _meta: { fullscreen: true } },
      ],
    },
    { name: "mute", subscribe: false, resources: [{ uri: "window://mute" }] },
  ));
  const { agent } = world.office;
  const a = [text("window://a/2")];
  const b = ["window://b/high\n\n1\n\n2", text("window://b/low")];
  assertEquals(await agent.getDesktop("pc"), [...a, ...b]);
  await agent.callTool("pc", "b_set");
  assertEquals(await agent.getDesktop("pc"), [...b, ...a]);
  assertEquals(await agent.getDesktop("pc", { size: 2 }), b);
  assertEquals(await agent.getDesktop("pc", { size: 0 }), []);
  const only = (window: string) => agent.getDesktop("pc", { window });
  assertEquals(await only("window://a/1"), [text("window://a/1")]);
  assertEquals(await only("window://b/high"), b.slice(0, 1));
  assertEquals(await only("window://none"), []);
});

Deno.test({
  name:
    "every window is subscribed to: at the start, when added, and after a restart (spec §8.5)",
  timeout: 120_000,
}, async () => {
  const resources = ["window://w/1", "window://w/2", "dpe://w/d", "file:///x"]
    .map((uri) => ({ uri }));
  await using world = await startComputer(
    resourceServers({ name: "w", resources }),
  );
  const { agent } = world.office;
  const first = ["dpe://w/d", "window://w/1", "window://w/2"];
  assertEquals(await subscribed(agent, "w", 3), first);
  await set(agent, "w", {
    resources: [...resources, { uri: "window://w/3" }],
    tell: "list",
  });
  assertEquals(await subscribed(agent, "w", 4), [...first, "window://w/3"]);
  await world.computer.stopServer("w");
  await world.computer.startServer("w");
  assertEquals(await subscribed(agent, "w", 3), first);
});

Deno.test({
  name:
    "changes of windows and documents are announced, and only those (spec §8.5)",
  timeout: 120_000,
}, async () => {
  await using world = await startComputer(resourceServers({ name: "s" }));
  const { agent } = world.office;
  const heard: string[] = [];
  for (
    const event of [
      "updateDesktop",
      "updateFinder",
    ] as const
  ) agent.on(event, ({ computer }) => heard.push(`${event} of ${computer}`));
  const desktop = "updateDesktop of pc";
  const finder = "updateFinder of pc";
  const window = { uri: "window://s/1" };
  const document = { uri: "dpe://s/1" };

  const steps: [
    Parameters<typeof set>[2],
    "updateDesktop" | "updateFinder",
  ][] = [
    [{ resources: [window], tell: "list" }, "updateDesktop"],
    [{ tell: ["window://s/1"] }, "updateDesktop"],
  ];
  for (const [params, event] of steps) {
    const announced = next(agent, event);
    await set(agent, "s", params);
    await announced;
  }
  assertEquals(heard, [desktop, desktop]);

  // The same windows in another order, other resources: only the document has changed.
  const announced = next(agent, "updateFinder");
  await set(agent, "s", {
    resources: [{ uri: "file:///x" }, window],
    tell: "list",
  });
  await set(agent, "s", { tell: ["file:///x"] });
  await set(agent, "s", { resources: [document, window], tell: "list" });
  await announced;
  assertEquals(heard, [desktop, desktop, finder]);

  const again = next(agent, "updateFinder");
  await set(agent, "s", { tell: [document.uri] });
  await again;
  assertEquals(heard, [desktop, desktop, finder, finder]);

  const lost = [
    next(agent, "updateDesktop"),
    next(agent, "updateFinder"),
  ];
  await world.computer.stopServer("s");
  await Promise.all(lost);
  assertEquals(await agent.getDesktop("pc"), []);
});

Deno.test({
  name:
    "a server replaced by a disabled one has no windows, documents and hosts (spec §8.5)",
  timeout: 120_000,
}, async () => {
  const seen: string[] = [];
  const servers = resourceServers({ name: "s" }, {
    name: "t",
    subscribe: false,
    resources: [{ uri: "dpe://s/x" }],
  });
  await using world = await startComputer(servers);
  const { office: { agent }, computer } = world;
  computer.registerDpeResolver({
    resolve: (_uri, _contents, { mcp_server_name }) => {
      seen.push(mcp_server_name);
      return { uri: "https://example.com/x" };
    },
  });
  const announced = () =>
    Promise.all([
      next(agent, "updateDesktop"),
      next(agent, "updateFinder"),
    ]);
  const added = announced();
  const resources = [{ uri: "window://s/1" }, { uri: "dpe://s/x" }];
  await set(agent, "s", { resources, tell: "list" });
  await added;
  await agent.getDpe("pc", "dpe://s/x");
  assertEquals(seen, ["s"]);

  const states: string[] = [];
  computer.on("serverState", ({ name, state }) => {
    states.push(`${name} is ${state}`);
  });
  const lost = announced();
  const { s } = servers;
  assert(s);
  await computer.updateServer("s", { ...s, disabled: true });
  assertEquals(states, ["s is disabled"]);
  await lost;
  await agent.getDpe("pc", "dpe://s/x");
  assertEquals(seen, ["s", "t"]);
  assertEquals(computer.status().problems, []);
});

Deno.test({
  name:
    "a burst of changes is coalesced, and its last state arrives (spec §8.5)",
  timeout: 120_000,
}, async () => {
  await using world = await startComputer(resourceServers({ name: "s" }));
  const { agent } = world.office;
  let heard = 0;
  const last = Promise.withResolvers<void>();
  agent.on("updateDesktop", async () => {
    heard++;
    const [shown] = await agent.getDesktop("pc");
    if (shown?.endsWith("last")) last.resolve();
  });
  await set(agent, "s", {
    resources: [{ uri: "window://s/1" }],
    tell: Array(500).fill("window://s/1"),
  });
  await set(agent, "s", {
    contents: { "window://s/1": [{ uri: "window://s/1", text: "last" }] },
    tell: ["window://s/1"],
  });
  await last.promise;
  assert(heard < 100, `${heard} announcements`);
});

Deno.test({
  name:
    "calls continue during and after handling of resources/list_changed (spec §8.5)",
  timeout: 120_000,
}, async () => {
  await using world = await startComputer(resourceServers({ name: "s" }));
  const { agent } = world.office;
  for (let i = 0; i < 20; i++) {
    const [{ isError }, desktop] = await Promise.all([
      agent.callTool("pc", "s_set", {
        resources: [{ uri: `window://s/${i}` }],
        tell: "list",
      }),
      agent.getDesktop("pc"),
    ]);
    assert(!isError);
    assert(desktop.length <= 1);
  }
  assertEquals(await agent.getDesktop("pc"), [text("window://s/19")]);
});

Deno.test({
  name:
    "get_finder searches and pages through the documents of all subscribing servers (spec §8.4)",
  timeout: 120_000,
}, async () => {
  await using world = await startComputer(resourceServers(
    {
      name: "b",
      resources: [1, 2, 3].map((n) => ({
        uri: `dpe://b/${n}`,
        name: `n${n}`,
        annotations: { lastModified: `2026-01-0${n}` },
        _meta: { file_type: n === 2 ? "pdf" : "xlsx" },
      })),
    },
    { name: "a", resources: [{ uri: "dpe://a/x", title: "Numbers" }] },
    { name: "mute", subscribe: false, resources: [{ uri: "dpe://mute/x" }] },
  ));
  const { agent } = world.office;
  const find = async (options = {}) => {
    const { documents, total_count } = await agent.getFinder("pc", options);
    return [documents.map(({ uri }) => uri), total_count];
  };
  const b = ["dpe://b/3", "dpe://b/2", "dpe://b/1"];
  assertEquals(await find(), [["dpe://a/x", ...b], 4]);
  assertEquals(await find({ offset: 1, limit: 2 }), [b.slice(0, 2), 4]);
  assertEquals(await find({ fileType: "pdf" }), [["dpe://b/2"], 1]);
  assertEquals(await find({ keywords: ["NUMB", "n3"] }), [[
    "dpe://a/x",
    "dpe://b/3",
  ], 2]);
});

/** Returns code and fields of a refusal. */
async function refusal(
  request: Promise<unknown>,
): Promise<Record<string, unknown>> {
  const error = await assertRejects(() => request, ProtocolError);
  return { code: error.code, ...error.fields };
}

Deno.test({
  name: "get_dpe refuses with the code of the step that fails (spec §8.3)",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  await using world = await startComputer(resourceServers(
    docs({ contents: { "dpe://docs/gone": null } }),
    { name: "mute", subscribe: false, resources: [{ uri: "dpe://mute/x" }] },
  ));
  const { agent } = world.office;
  const uri = "dpe://docs/report";
  assertEquals(await refusal(agent.getDpe("pc", uri)), {
    code: ErrorCode.DPE_RESOLVER_NOT_CONFIGURED,
    uri,
  });
  world.computer.registerDpeResolver(localDirResolver(folder.path));
  const invalid = await refusal(agent.getDpe("pc", "dpe://docs/report?x=1"));
  assertEquals(invalid.code, ErrorCode.INVALID_DPE_URI);
  const failed = async (uri: string) => {
    const { code, reason } = await refusal(agent.getDpe("pc", uri));
    assertEquals(code, ErrorCode.DPE_RESOLUTION_FAILED);
    return reason;
  };
  assertEquals(
    await failed("dpe://unknown/x"),
    'no MCP server lists the host "unknown"',
  );
  assert(
    String(await failed("dpe://docs/gone")).includes(
      "no resource dpe://docs/gone",
    ),
  );
  await agent.getDpe("pc", "dpe://mute/x"); // `resources` alone is enough
  await world.computer.stopServer("docs");
  assertEquals(
    await failed("dpe://docs/report"),
    'no MCP server lists the host "docs"',
  );
  assertEquals((await readdir(folder.path)).length, 1);
});

/** Collects warnings of the log until the end of the scope. */
async function captureWarnings(): Promise<
  AsyncDisposable & { warnings: string[] }
> {
  const warnings: string[] = [];
  const format = getTextFormatter();
  await configure({
    sinks: { memory: (record) => void warnings.push(format(record)) },
    loggers: [{
      category: ["a2c-smcp"],
      lowestLevel: "warning",
      sinks: ["memory"],
    }, { category: ["logtape", "meta"], sinks: [] }],
  });
  return { warnings, [Symbol.asyncDispose]: reset };
}

Deno.test({
  name:
    "a host of two servers is routed to the first registered one, and reported as a problem (spec §8.3)",
  timeout: 120_000,
}, async () => {
  const seen: string[] = [];
  const resolver: DpeResolver = {
    resolve: (_uri, _contents, { mcp_server_name }) => {
      seen.push(mcp_server_name);
      return { uri: "https://example.com/x" };
    },
  };
  await using log = await captureWarnings();
  const shared = [{ uri: "dpe://shared/x" }, { uri: "window://shared" }];
  await using world = await startComputer(resourceServers(
    { name: "zeta", resources: shared },
    { name: "alpha", resources: shared },
  ));
  const { office: { agent }, computer } = world;
  computer.registerDpeResolver(resolver);
  await subscribed(agent, "zeta", 2);
  await subscribed(agent, "alpha", 2);
  await agent.getDpe("pc", "dpe://shared/x");
  await agent.getDpe("pc", "dpe://shared/not-listed");
  await computer.stopServer("zeta");
  await agent.getDpe("pc", "dpe://shared/x");
  assertEquals(seen, ["zeta", "zeta", "alpha"]);
  const warned = (text: string) =>
    log.warnings.filter((warning) => warning.includes(text)).length;
  assertEquals(warned("is used by the MCP servers"), 1, "at registration");
  assertEquals(warned('"shared" are read from "zeta"'), 2, "at routing");
  await computer.startServer("zeta");
  await subscribed(agent, "zeta", 2);
  const [problem] = computer.status().problems;
  assert(
    problem?.startsWith(
      'Host "shared" is used by the MCP servers "zeta" and "alpha"',
    ),
    problem,
  );
});

Deno.test({
  name:
    "an Agent opens a document that its Computer publishes as files (spec §8.3)",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  await using world = await startComputer(resourceServers(docs()));
  const { agent } = world.office;
  world.computer.registerDpeResolver(localDirResolver(folder.path));
  const document = await agent.openDocument("pc", "dpe://docs/report");
  assertEquals(document.info.title, "The report");
  assertEquals(await document.toMarkdown(), MARKDOWN);
  assertEquals((await document.element("e2")).text, "page 2");

  // Missing files are published again.
  for (const name of await readdir(folder.path)) {
    await rm(join(folder.path, name));
  }
  assertEquals(await document.toMarkdown(), MARKDOWN);
});

Deno.test({
  name:
    "an Agent opens a document that its Computer publishes in object storage (spec §8.3)",
  timeout: 120_000,
}, async () => {
  await using storage = await startS3();
  await using world = await startComputer(resourceServers(docs()));
  world.computer.registerDpeResolver(
    s3Resolver({ ...storage, region: "us-east-1", prefix: "office/" }),
  );
  const document = await world.office.agent.openDocument(
    "pc",
    "dpe://docs/report",
  );
  assertEquals(await document.toMarkdown(), MARKDOWN);
});

Deno.test({
  name:
    "an Agent resolves a document again after leaving and joining (spec §8.3)",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  await using world = await startComputer(resourceServers(docs()));
  const { office: { agent }, computer } = world;
  let asked = 0;
  const files = localDirResolver(folder.path);
  computer.registerDpeResolver({
    resolve: (...args) => {
      asked++;
      return files.resolve(...args);
    },
  });
  const document = await agent.openDocument("pc", "dpe://docs/report");
  await document.page(1);
  assertEquals(asked, 1);
  await agent.leave();
  await agent.join(OFFICE);
  await document.page(1);
  await document.page(2);
  assertEquals(asked, 2);
});

Deno.test({
  name: "computer run --dpe-dir publishes documents in that directory",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const config = join(folder.path, "config.json");
  const dir = join(folder.path, "published");
  await writeFile(config, JSON.stringify({ servers: resourceServers(docs()) }));
  await using office = await startOffice();
  await using child = runComputer(office, config, {
    flags: ["--dpe-dir", dir],
  });
  await child.line(/MCP server docs: running/);
  await child.line(/joined office/);
  const document = await office.agent.openDocument("pc", "dpe://docs/report");
  assertEquals(await document.toMarkdown(), MARKDOWN);
  assertEquals((await readdir(dir)).length, 3);
});
