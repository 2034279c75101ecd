import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  organizeDesktop,
  type ReadWindow,
  readWindows,
  windowLayout,
} from "../../../../computer/resources/desktop.ts";
import type { McpConnection } from "../../../../computer/host/mcp/connection.ts";
import { orderServers } from "../../../../computer/resources/servers.ts";
import type { Resource } from "../../../../protocol/mod.ts";

const window = (
  server: string,
  uri: string,
  over: Omit<Partial<Resource>, "contents"> & {
    contents?: ReadWindow["contents"];
  } = {},
): ReadWindow => {
  const { contents = [{ text: `text of ${uri}` }], ...resource } = over;
  return { server, resource: { uri, ...resource }, contents };
};

const priority = (value: unknown) => ({ annotations: { priority: value } });
const fullscreen = (value: unknown = true) => ({
  _meta: { fullscreen: value },
});

/** The URIs of a desktop in order. */
const uris = (
  windows: ReadWindow[],
  size?: number,
  history: string[] = [],
): string[] =>
  organizeDesktop(windows, size, history).desktops
    .map((desktop) => desktop.split("\n")[0] ?? "");

Deno.test("organizeDesktop() renders URI and texts, or only the URI without text", () => {
  const { desktops, warnings } = organizeDesktop(
    [
      window("a", "window://h/1", {
        contents: [{ text: "one" }, { text: "two" }],
      }),
      window("a", "window://h/2", { contents: [{ mimeType: "text/plain" }] }),
      window("a", "window://h/3", { contents: [{ text: "" }] }),
    ],
    undefined,
    [],
  );
  assertEquals(desktops, [
    "window://h/1\n\none\n\ntwo",
    "window://h/2",
    "window://h/3",
  ]);
  assertEquals(warnings, []);
});

Deno.test("organizeDesktop() drops windows that cannot be shown, each with a warning", () => {
  const bad: [ReadWindow, why: string][] = [
    [window("a", "window://h/1", { contents: [] }), "no contents"],
    [window("a", "window:///x"), "host must not be empty"],
    [window("a", "dpe://h/x"), "expected window://"],
    [
      window("a", "window://h/2", { contents: [{ blob: "AA==" }] }),
      "bytes only",
    ],
  ];
  for (const [dropped, why] of bad) {
    const { desktops, warnings } = organizeDesktop([dropped], undefined, []);
    assertEquals(desktops, []);
    assertEquals(warnings.length, 1, why);
    assertStringIncludes(warnings[0] ?? "", why);
    assertStringIncludes(warnings[0] ?? "", '"a"');
  }
});

Deno.test("organizeDesktop() skips blobs next to texts, with a warning", () => {
  const { desktops, warnings } = organizeDesktop(
    [window("a", "window://h", {
      contents: [{ blob: "AA==" }, { text: "t" }],
    })],
    undefined,
    [],
  );
  assertEquals(desktops, ["window://h\n\nt"]);
  assertEquals(warnings.length, 1);
});

Deno.test("organizeDesktop() drops a query with a warning, and shows the window", () => {
  const { desktops, warnings } = organizeDesktop(
    [window("a", "window://h/x?priority=9", { contents: [{ text: "t" }] })],
    undefined,
    [],
  );
  assertEquals(desktops, ["window://h/x\n\nt"]);
  assertStringIncludes(warnings.join(), "has no query");
});

Deno.test("organizeDesktop() shows the most recently used servers first, the rest by name", () => {
  const windows = ["zeta", "alpha", "Beta", "mid"].map((s) =>
    window(s, `window://${s}`)
  );
  assertEquals(uris(windows, undefined, ["mid", "zeta", "gone", "mid"]), [
    "window://mid",
    "window://zeta",
    "window://Beta",
    "window://alpha",
  ]);
});

Deno.test("organizeDesktop() sorts a server's windows by priority, descending and stable", () => {
  const windows = [
    window("a", "window://h/none"),
    window("a", "window://h/low", priority(0.2)),
    window("a", "window://h/high", priority(1)),
    window("a", "window://h/null", priority(null)),
    window("a", "window://h/low2", priority(0.2)),
    window("a", "window://h/wild", priority(1.5)),
  ];
  assertEquals(uris(windows).map((u) => u.slice(11)), [
    "high",
    "low",
    "low2",
    "none",
    "null",
    "wild",
  ]);
});

Deno.test("organizeDesktop() keeps only the first fullscreen window of a server, and all of others", () => {
  const windows = [
    window("a", "window://a/1", priority(1)),
    window("a", "window://a/2", { ...fullscreen(), ...priority(0.1) }),
    window("a", "window://a/3", { ...fullscreen(), ...priority(0.9) }),
    window("b", "window://b/1"),
    window("b", "window://b/2"),
  ];
  assertEquals(uris(windows), [
    "window://a/2",
    "window://b/1",
    "window://b/2",
  ]);
});

Deno.test("organizeDesktop() skips a fullscreen window that cannot be shown", () => {
  const windows = [
    window("a", "window://a/1", { ...fullscreen(), contents: [] }),
    window("a", "window://a/2"),
  ];
  assertEquals(uris(windows), ["window://a/2"]);
});

Deno.test("organizeDesktop() cuts at the size over all servers, and shows nothing for 0 or less", () => {
  const windows = [
    window("a", "window://a/1"),
    window("a", "window://a/2"),
    window("b", "window://b/1"),
  ];
  assertEquals(uris(windows, 2), ["window://a/1", "window://a/2"]);
  assertEquals(uris(windows, 9).length, 3);
  assertEquals(uris(windows, 0), []);
  assertEquals(uris(windows, -1), []);
});

Deno.test("windowLayout() replaces invalid metadata with a warning, and treats null as absent", () => {
  const rows: [Resource, { priority: number; fullscreen: boolean }, string?][] =
    [
      [{}, { priority: 0, fullscreen: false }],
      [{ ...priority(0.5), ...fullscreen() }, {
        priority: 0.5,
        fullscreen: true,
      }],
      [priority(1), { priority: 1, fullscreen: false }],
      [priority(null), { priority: 0, fullscreen: false }],
      [fullscreen(null), { priority: 0, fullscreen: false }],
      [priority(1.01), { priority: 0, fullscreen: false }, "got 1.01"],
      [priority(-1), { priority: 0, fullscreen: false }, "got -1"],
      [priority("0.8"), { priority: 0, fullscreen: false }, 'got "0.8"'],
      [fullscreen("true"), { priority: 0, fullscreen: false }, 'got "true"'],
      [fullscreen(1), { priority: 0, fullscreen: false }, "got 1"],
      [
        { annotations: { audience: ["user"] } },
        { priority: 0, fullscreen: false },
        "assistant",
      ],
      [{ annotations: { audience: ["user", "assistant"] } }, {
        priority: 0,
        fullscreen: false,
      }],
      [
        JSON.parse('{"annotations": ["x"], "_meta": "y"}'),
        { priority: 0, fullscreen: false },
        "annotations must be an object",
      ],
    ];
  for (const [resource, expected, warning] of rows) {
    const { warnings, ...layout } = windowLayout(resource);
    assertEquals(layout, expected, JSON.stringify(resource));
    assertEquals(warnings.length, warning === undefined ? 0 : 1);
    assertStringIncludes(warnings.join(), warning ?? "");
  }
});

Deno.test("organizeDesktop() shows a window that is not for the assistant, with a warning", () => {
  const { desktops, warnings } = organizeDesktop(
    [window("a", "window://h", { annotations: { audience: ["user"] } })],
    undefined,
    [],
  );
  assertEquals(desktops.length, 1);
  assertEquals(warnings.length, 1);
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

Deno.test("organizeDesktop() never invents or repeats windows, or exceeds the size", () => {
  fc.assert(
    fc.property(
      fc.array(anyWindow, { maxLength: 30 }),
      fc.option(fc.integer({ min: -2, max: 40 }), { nil: undefined }),
      fc.array(fc.constantFrom("a", "b", "c", "x")),
      (windows, size, history) => {
        const before = structuredClone(windows);
        const { desktops } = organizeDesktop(windows, size, history);
        assertEquals(windows, before, "its input is left alone");
        assert(desktops.length <= Math.max(0, size ?? windows.length));
        assert(desktops.every((text) => text.startsWith("window://h")));
        const all = organizeDesktop(windows, undefined, history).desktops;
        assertEquals(desktops, all.slice(0, Math.max(0, size ?? all.length)));
      },
    ),
  );
});

Deno.test("organizeDesktop() keeps the windows of one server together", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 20 }),
      fc.array(fc.constantFrom("a", "b", "c")),
      (servers, history) => {
        const shown = uris(
          servers.map((s, i) => window(s, `window://${s}/${i}`)),
          undefined,
          history,
        ).map((uri) => uri.slice(9, 10));
        const runs = shown.filter((server, i) => server !== shown[i - 1]);
        assertEquals(runs, orderServers([...new Set(servers)], history));
        assertEquals(shown.length, servers.length);
      },
    ),
  );
});

/** An MCP server that lists and reads windows with the given functions. */
function windowServer(
  listed: string[] | Error,
  read: (uri: string, signal?: AbortSignal) => Promise<string>,
): McpConnection {
  return {
    capabilities: { resources: { subscribe: true } },
    listResources: () =>
      listed instanceof Error
        ? Promise.reject(listed)
        : Promise.resolve({ resources: listed.map((uri) => ({ uri })) }),
    readResource: async (uri, { signal } = {}) => [
      { uri, text: await read(uri, signal) },
    ],
    callTool: () => Promise.reject(new Error("no tools")),
    listPrompts: () => Promise.resolve([]),
    getPrompt: () => Promise.reject(new Error("no prompts")),
    listTools: () => Promise.resolve({ tools: [], problems: [] }),
    subscribe: () => Promise.resolve(),
    unsubscribe: () => Promise.resolve(),
    onNotification: () => {},
    onLost: () => {},
    close: () => Promise.resolve(),
  };
}

const never = (_uri: string, signal?: AbortSignal): Promise<string> =>
  new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason))
  );

Deno.test("readWindows() leaves out only the server or window that fails or hangs", async () => {
  const answers = (uri: string) => Promise.resolve(`text of ${uri}`);
  const servers = {
    good: windowServer(["window://g/1", "file:///x", "window://g/2"], answers),
    broken: windowServer(new Error("no list"), answers),
    picky: windowServer(
      ["window://p/1", "window://p/2"],
      (uri) =>
        uri.endsWith("1") ? Promise.reject(new Error("not now")) : answers(uri),
    ),
    hung: windowServer(
      ["window://h/1", "window://h/2"],
      (uri, signal) => uri.endsWith("2") ? never(uri, signal) : answers(uri),
    ),
  };
  const { windows, warnings } = await readWindows(
    Object.entries(servers).map(([name, connection]) => ({
      name,
      bundleId: name,
      connection,
    })),
    undefined,
    () => {},
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
  const connection = windowServer(
    ["window://g/1", "window://g/1/2", "window://g/3?x=1"],
    (uri) => {
      read.push(uri);
      return Promise.resolve("");
    },
  );
  for (
    const wanted of ["window://g/1", "window://g/3", "window://g", "nothing"]
  ) {
    await readWindows(
      [{ name: "g", bundleId: "g", connection }],
      wanted,
      () => {},
    );
  }
  assertEquals(read, ["window://g/1", "window://g/3?x=1"]);
});
