import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  organizeDesktop,
  type ReadWindow,
  readWindows,
  windowLayout,
} from "../../../../computer/resources/desktop.ts";
import type { McpConnection } from "../../../../computer/host/mcp/mcp_connection.ts";
import { orderServers } from "../../../../computer/resources/servers.ts";
import type { Resource, ResourceContents } from "../../../../protocol/mod.ts";

/** A window of a server, by default the one of the URI's host. */
const window = (
  uri: string,
  resource: Partial<Resource> = {},
  contents: ResourceContents[] = [{ text: "t" }],
): ReadWindow => ({
  server: uri.split("/")[2] ?? "",
  resource: { uri, ...resource },
  contents,
});

const priority = (value: unknown) => ({ annotations: { priority: value } });
const fullscreen = (value: unknown = true) => ({
  _meta: { fullscreen: value },
});

Deno.test("organizeDesktop() renders URI and texts, or only the URI without text, with a warning of each part that cannot be shown", () => {
  const blob = { blob: "AA==" };
  const rows: [window: ReadWindow, shown: string[], ...warnings: string[]][] = [
    [
      window("window://h/1", {}, [{ text: "one" }, { text: "two" }]),
      ["window://h/1\n\none\n\ntwo"],
    ],
    [
      window("window://h/2", {}, [{ mimeType: "text/plain" }]),
      ["window://h/2"],
    ],
    [window("window://h/3", {}, [{ text: "" }]), ["window://h/3"]],
    [window("window://h/1", {}, []), [], "no contents"],
    [window("window:///x"), [], "host must not be empty"],
    [window("dpe://h/x"), [], "expected window://"],
    [window("window://h/2", {}, [blob]), [], "bytes only"],
    [window("window://h", {}, [blob, { text: "t" }]), ["window://h\n\nt"], ""],
    [window("window://h/x?p=9"), ["window://h/x\n\nt"], "has no query"],
    [
      window("window://h", { annotations: { audience: ["user"] } }),
      ["window://h\n\nt"],
      "assistant",
    ],
  ];
  for (const [window, shown, ...parts] of rows) {
    const read = [{ ...window, server: "a" }];
    const warnings: string[] = [];
    assertEquals(organizeDesktop(read, undefined, [], warnings), shown);
    assertEquals(warnings.length, parts.length, window.resource.uri);
    for (const part of parts) {
      assertStringIncludes(warnings[0] ?? "", part);
      assertStringIncludes(warnings[0] ?? "", '"a"');
    }
  }
});

/** The URIs of a desktop in order, without the scheme. */
const order = (
  windows: ReadWindow[],
  size?: number,
  history: string[] = [],
): string[] =>
  organizeDesktop(windows, size, history, [])
    .map((desktop) => desktop.slice("window://".length).split("\n")[0] ?? "");

Deno.test("organizeDesktop() shows the most recently used servers first, their windows by priority, one in fullscreen alone, up to the size", () => {
  const servers = ["zeta", "alpha", "Beta", "mid"]
    .map((name) => window(`window://${name}`));
  assertEquals(
    order(servers, undefined, ["mid", "zeta", "gone", "mid"]),
    ["mid", "zeta", "Beta", "alpha"],
  );
  assertEquals(
    order([
      window("window://h/none"),
      window("window://h/low", priority(0.2)),
      window("window://h/high", priority(1)),
      window("window://h/null", priority(null)),
      window("window://h/low2", priority(0.2)),
      window("window://h/wild", priority(1.5)),
    ]),
    ["h/high", "h/low", "h/low2", "h/none", "h/null", "h/wild"],
  );
  const windows = [
    window("window://a/0", fullscreen(), []), // cannot be shown
    window("window://a/1", priority(1)),
    window("window://a/2", { ...fullscreen(), ...priority(0.1) }),
    window("window://a/3", { ...fullscreen(), ...priority(0.9) }),
    window("window://b/1"),
    window("window://b/2"),
  ];
  const shown = ["a/2", "b/1", "b/2"];
  assertEquals(order(windows.slice(0, 2)), ["a/1"]);
  for (const size of [undefined, 9, 3, 2, 1, 0, -1]) {
    const expected = shown.slice(0, Math.max(0, size ?? 9));
    assertEquals(order(windows, size), expected, `${size}`);
  }
});

Deno.test("windowLayout() replaces invalid metadata with a warning, and treats null as absent", () => {
  const audience = (...audience: string[]) => ({ annotations: { audience } });
  const rows: [Resource, [priority: number, isFull: boolean], string?][] = [
    [{}, [0, false]],
    [{ ...priority(0.5), ...fullscreen() }, [0.5, true]],
    [priority(0), [0, false]],
    [priority(1), [1, false]],
    [priority(null), [0, false]],
    [fullscreen(null), [0, false]],
    [priority(1.01), [0, false], "got 1.01"],
    [priority(-1), [0, false], "got -1"],
    [priority("0.8"), [0, false], 'got "0.8"'],
    [fullscreen("true"), [0, false], 'got "true"'],
    [fullscreen(1), [0, false], "got 1"],
    [audience("user"), [0, false], "assistant"],
    [audience("user", "assistant"), [0, false]],
    [
      JSON.parse('{"annotations": ["x"], "_meta": "y"}'),
      [0, false],
      "annotations must be an object",
    ],
  ];
  for (const [resource, layout, warning] of rows) {
    const warnings: string[] = [];
    const { priority, fullscreen } = windowLayout(
      resource,
      (warning) => void warnings.push(warning),
    );
    assertEquals([priority, fullscreen], layout, JSON.stringify(resource));
    assertEquals(warnings.length, warning === undefined ? 0 : 1);
    assertStringIncludes(warnings.join(), warning ?? "");
  }
});

const anyWindow: fc.Arbitrary<ReadWindow> = fc.record({
  server: fc.constantFrom("a", "b", "c", "d"),
  resource: fc.record({
    uri: fc.oneof(
      fc.constantFrom("window://h/a", "window://h/b?q", "dpe://h/x", ""),
      fc.webPath().map((path) => `window://h${path}`),
    ),
    annotations: fc.record({
      priority: fc.oneof(
        fc.double(),
        fc.constant(null),
        fc.double({ min: 0, max: 1 }),
      ),
    }, { requiredKeys: [] }),
    _meta: fc.record({
      fullscreen: fc.oneof(fc.boolean(), fc.constant("yes")),
    }, { requiredKeys: [] }),
  }),
  contents: fc.array(
    fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ blob: fc.string() }),
    ),
    { maxLength: 3 },
  ),
}) as fc.Arbitrary<ReadWindow>;

Deno.test("organizeDesktop() never invents or repeats windows, or exceeds the size, and keeps those of a server together", () => {
  fc.assert(
    fc.property(
      fc.array(anyWindow, { maxLength: 30 }),
      fc.option(fc.integer({ min: -2, max: 40 }), { nil: undefined }),
      fc.array(fc.constantFrom("a", "b", "c", "x")),
      (windows, size, history) => {
        const before = structuredClone(windows);
        const desktops = organizeDesktop(windows, size, history, []);
        assertEquals(windows, before, "its input is left alone");
        assert(desktops.length <= Math.max(0, size ?? windows.length));
        assert(desktops.every((text) => text.startsWith("window://h")));
        const all = organizeDesktop(windows, undefined, history, []);
        assertEquals(desktops, all.slice(0, Math.max(0, size ?? all.length)));

        const servers = windows.map(({ server }) => server);
        const shown = order(
          servers.map((server, i) => window(`window://${server}/${i}`)),
          undefined,
          history,
        ).map((uri) => uri.slice(0, 1));
        const runs = shown.filter((server, i) => server !== shown[i - 1]);
        assertEquals(runs, orderServers([...new Set(servers)], history));
        assertEquals(shown.length, servers.length);
      },
    ),
  );
});

/** A running MCP server that lists windows, and reads them with a function. */
function windowServer(
  name: string,
  listed: string[] | Error,
  read: (uri: string, signal?: AbortSignal) => Promise<string>,
) {
  const connection: Partial<McpConnection> = {
    readResource: async (uri, { signal } = {}) => [
      { uri, text: await read(uri, signal) },
    ],
  };
  return {
    name,
    connection: connection as McpConnection,
    list: () =>
      listed instanceof Error
        ? Promise.reject(listed)
        : Promise.resolve(listed.map((uri) => ({ uri }))),
  };
}

Deno.test("readWindows() leaves out only the server or window that fails or hangs", async () => {
  const read = (uri: string, signal?: AbortSignal): Promise<string> => {
    if (uri === "window://p/1") return Promise.reject(new Error("not now"));
    if (uri !== "window://h/2") return Promise.resolve("");
    return new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason))
    );
  };
  const warnings: string[] = [];
  const windows = await readWindows(
    [
      windowServer("good", ["window://g/1", "file:///x", "window://g/2"], read),
      windowServer("broken", new Error("no list"), read),
      windowServer("picky", ["window://p/1", "window://p/2"], read),
      windowServer("hung", ["window://h/1", "window://h/2"], read),
    ],
    undefined,
    warnings,
    50,
  );
  assertEquals(windows.map(({ resource }) => resource.uri), [
    "window://g/1",
    "window://g/2",
    "window://p/2",
    "window://h/1",
  ]);
  assertEquals(warnings.toSorted(), [
    'Cannot read "window://p/1" of "picky": not now',
    'Cannot read all windows of "broken": no list',
    'Cannot read all windows of "hung": it took longer than 0.05 s',
  ]);
});

Deno.test("readWindows() reads only the requested window, by exact URI or by URI without query", async () => {
  const read: string[] = [];
  const server = windowServer(
    "g",
    ["window://g/1", "window://g/1/2", "window://g/3?x=1"],
    (uri) => Promise.resolve(`${read.push(uri)}`),
  );
  for (
    const wanted of ["window://g/1", "window://g/3", "window://g", "nothing"]
  ) {
    await readWindows([server], wanted, []);
  }
  assertEquals(read, ["window://g/1", "window://g/3?x=1"]);
});
