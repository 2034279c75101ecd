import { assert, assertEquals, assertRejects } from "@std/assert";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { localDirResolver, s3Resolver } from "../../../computer/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import {
  next,
  resourceServers,
  set,
  subscribed,
} from "../../support/computer/resource_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startS3 } from "../../support/computer/s3.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const text = (uri: string) => `${uri}\n\ntext of ${uri}`;
const page = (page_index: number) => ({
  page_index,
  elements: [{
    element_id: `e${page_index}`,
    category: "Text",
    text: `page ${page_index}`,
  }],
});

const REPORT = "dpe://docs/report";
/** Three pages: one inline, two as separate contents. */
const CONTENTS = {
  [REPORT]: Object.entries({
    "": {
      doc_ref: "report",
      uri: REPORT,
      title: "The report",
      pages: [
        { ...page(0), title: "Zero" },
        { page_index: 1, uri: `${REPORT}/pages/1` },
        { page_index: 2, uri: `${REPORT}/pages/2` },
      ],
    },
    "/pages/1": page(1),
    "/pages/2": page(2),
  }).map(([path, content]) => ({
    uri: `${REPORT}${path}`,
    mimeType: "application/json",
    text: JSON.stringify(content),
  })),
};
const MARKDOWN = "# The report\n\n## Zero\n\npage 0\n\npage 1\n\npage 2\n";

const docs = (
  contents: Record<string, typeof CONTENTS[typeof REPORT] | null> = CONTENTS,
) => ({
  name: "docs",
  resources: [{ uri: REPORT, name: "report" }],
  contents,
});

Deno.test("get_desktop returns the windows of all subscribing servers, the most recently used server first (protocol §8.1)", async () => {
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
        "window://b/high?x=1": [
          { uri: "x", text: "1" },
          { uri: "y", text: "2" },
        ],
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

Deno.test("every window is subscribed to: at the start, when added, and after a restart (protocol §8.5)", async () => {
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

Deno.test("changes of windows and documents are announced, and only those (protocol §8.5)", async () => {
  await using world = await startComputer(resourceServers({ name: "s" }));
  const { agent } = world.office;
  const announced: string[] = [];
  for (const event of ["updateDesktop", "updateFinder"] as const) {
    agent.on(
      event,
      ({ computer }) => announced.push(`${event} of ${computer}`),
    );
  }
  const window = { uri: "window://s/1" };
  const document = { uri: "dpe://s/1" };
  type Step = [
    "updateDesktop" | "updateFinder",
    ...Parameters<typeof set>[2][],
  ];
  const steps: Step[] = [
    ["updateDesktop", { resources: [window], tell: "list" }],
    ["updateDesktop", { tell: [window.uri] }],
    [
      // The same windows in another order, other resources: only the document has changed.
      "updateFinder",
      { resources: [{ uri: "file:///x" }, window], tell: "list" },
      { tell: ["file:///x"] },
      { resources: [document, window], tell: "list" },
    ],
    ["updateFinder", { tell: [document.uri] }],
  ];
  for (const [event, ...changes] of steps) {
    const change = next(agent, event);
    for (const params of changes) await set(agent, "s", params);
    await change;
  }
  assertEquals(announced, steps.map(([event]) => `${event} of pc`));

  const lost = [next(agent, "updateDesktop"), next(agent, "updateFinder")];
  await world.computer.stopServer("s");
  await Promise.all(lost);
  assertEquals(await agent.getDesktop("pc"), []);
});

/** A resolver that notes the MCP servers whose documents it gets. */
function noting() {
  const seen: string[] = [];
  return {
    seen,
    resolve: (
      _uri: string,
      _contents: unknown,
      { mcp_server_name }: { mcp_server_name: string },
    ) => {
      seen.push(mcp_server_name);
      return { uri: "https://example.com/x" };
    },
  };
}

Deno.test("a server replaced by a disabled one has no windows, documents and hosts (protocol §8.5)", async () => {
  const resolver = noting();
  const servers = resourceServers({ name: "s" }, {
    name: "t",
    subscribe: false,
    resources: [{ uri: "dpe://s/x" }],
  });
  await using world = await startComputer(servers);
  const { office: { agent }, computer } = world;
  computer.registerDpeResolver(resolver);
  const announced = () =>
    Promise.all([next(agent, "updateDesktop"), next(agent, "updateFinder")]);
  const added = announced();
  const resources = [{ uri: "window://s/1" }, { uri: "dpe://s/x" }];
  await set(agent, "s", { resources, tell: "list" });
  await added;
  await agent.getDpe("pc", "dpe://s/x");
  assertEquals(resolver.seen, ["s"]);

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
  assertEquals(resolver.seen, ["s", "t"]);
  assertEquals(computer.status().problems, []);
});

Deno.test("a burst of changes is coalesced, and its last state arrives (protocol §8.5)", async () => {
  await using world = await startComputer(resourceServers({ name: "s" }));
  const { agent } = world.office;
  let announced = 0;
  const last = Promise.withResolvers<void>();
  agent.on("updateDesktop", async () => {
    announced++;
    const [shown] = await agent.getDesktop("pc");
    if (shown?.endsWith("last")) last.resolve();
  });
  const uri = "window://s/1";
  await set(agent, "s", { resources: [{ uri }], tell: Array(500).fill(uri) });
  await set(agent, "s", {
    contents: { [uri]: [{ uri, text: "last" }] },
    tell: [uri],
  });
  await last.promise;
  assert(announced < 100, `${announced} announcements`);
});

Deno.test("calls continue during and after handling of resources/list_changed (protocol §8.5)", async () => {
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

Deno.test("get_finder searches and pages through the documents of all subscribing servers (protocol §8.4)", async () => {
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
  const rows: [options: object, uris: string, total: number][] = [
    [{}, "dpe://a/x dpe://b/3 dpe://b/2 dpe://b/1", 4],
    [{ offset: 1, limit: 2 }, "dpe://b/3 dpe://b/2", 4],
    [{ fileType: "pdf" }, "dpe://b/2", 1],
    [{ keywords: ["NUMB", "n3"] }, "dpe://a/x dpe://b/3", 2],
  ];
  for (const [options, uris, total] of rows) {
    const { documents, total_count } = await agent.getFinder("pc", options);
    assertEquals(documents.map(({ uri }) => uri).join(" "), uris);
    assertEquals(total_count, total);
  }
});

Deno.test("get_dpe refuses with the code of the step that fails (protocol §8.3)", async () => {
  await using folder = await scratch();
  await using world = await startComputer(resourceServers(
    docs({ "dpe://docs/gone": null }),
    { name: "mute", subscribe: false, resources: [{ uri: "dpe://mute/x" }] },
  ));
  const { agent } = world.office;
  const refusal = async (uri: string) => {
    const { code, fields } = await assertRejects(
      () => agent.getDpe("pc", uri),
      ProtocolError,
    );
    return [code, String(fields?.reason)] as const;
  };
  assertEquals((await refusal(REPORT))[0], 4011);
  world.computer.registerDpeResolver(localDirResolver(folder.path));
  assertEquals((await refusal(`${REPORT}?x=1`))[0], 4012);
  assertEquals(await refusal("dpe://unknown/x"), [
    4013,
    'no MCP server lists the host "unknown"',
  ]);
  const [code, reason] = await refusal("dpe://docs/gone");
  assertEquals(code, 4013);
  assert(reason.includes("no resource dpe://docs/gone"), reason);
  await agent.getDpe("pc", "dpe://mute/x"); // `resources` alone is enough
  await world.computer.stopServer("docs");
  assertEquals(await refusal(REPORT), [
    4013,
    'no MCP server lists the host "docs"',
  ]);
  assertEquals((await readdir(folder.path)).length, 1);
});

Deno.test("a host of two servers is routed to the first registered one, and reported as a problem (protocol §8.3)", async () => {
  const resolver = noting();
  using log = captureLog();
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
  assertEquals(resolver.seen, ["zeta", "zeta", "alpha"]);
  const warned = (text: string) =>
    log.records.filter(({ message }) => message.join("").includes(text)).length;
  assertEquals(warned("is used by the MCP servers"), 1, "at registration");
  assertEquals(warned("shared are read from zeta"), 2, "at routing");
  await computer.startServer("zeta");
  await subscribed(agent, "zeta", 2);
  const [problem = ""] = computer.status().problems;
  const says = 'Host "shared" is used by the MCP servers "zeta" and "alpha"';
  assert(problem.startsWith(says), problem);
});

Deno.test("an Agent opens a document that its Computer publishes as files, and resolves it again when they are missing, or after leaving and joining (protocol §8.3)", async () => {
  await using folder = await scratch();
  await using world = await startComputer(resourceServers(docs()));
  const { office: { agent }, computer } = world;
  let resolved = 0;
  const files = localDirResolver(folder.path);
  computer.registerDpeResolver({
    resolve: (...args) => {
      resolved++;
      return files.resolve(...args);
    },
  });
  const document = await agent.openDocument("pc", REPORT);
  assertEquals(document.info.title, "The report");
  await document.page(1);
  assertEquals(resolved, 1);
  await agent.leave();
  await agent.join(OFFICE);
  await document.page(1);
  await document.page(2);
  assertEquals(resolved, 2);
  assertEquals(await document.toMarkdown(), MARKDOWN);
  assertEquals((await document.element("e2")).text, "page 2");

  for (const name of await readdir(folder.path)) {
    await rm(join(folder.path, name));
  }
  assertEquals(await document.toMarkdown(), MARKDOWN);
});

Deno.test("an Agent opens a document that its Computer publishes in object storage (protocol §8.3)", async () => {
  await using storage = await startS3();
  await using world = await startComputer(resourceServers(docs()));
  world.computer.registerDpeResolver(
    s3Resolver({ ...storage, region: "us-east-1", prefix: "office/" }),
  );
  const document = await world.office.agent.openDocument("pc", REPORT);
  assertEquals(await document.toMarkdown(), MARKDOWN);
});

Deno.test("computer run --dpe-dir publishes documents in that directory", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "published");
  await using config = await configFile({ servers: resourceServers(docs()) });
  await using office = await startOffice();
  await using child = runComputer(office, config.file, {
    flags: ["--dpe-dir", dir],
  });
  await child.line(/MCP server docs: running/);
  await child.line(/joined office/);
  const document = await office.agent.openDocument("pc", REPORT);
  assertEquals(await document.toMarkdown(), MARKDOWN);
  assertEquals((await readdir(dir)).length, 3);
});
