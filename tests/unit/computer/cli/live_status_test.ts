import { assertEquals, assertMatch } from "@std/assert";
import { statusBlock } from "../../../../computer/cli/live_view.ts";
import type { ToolProgress } from "../../../../protocol/mod.ts";
import type {
  ServerState,
  ServerStatus,
} from "../../../../computer/host/server_status.ts";

const server = (name: string, state: ServerState): ServerStatus => ({
  name,
  bundleId: name,
  type: "stdio",
  state,
  tools: 1,
  restarts: 0,
  problems: [],
  ...(state === "failed" && { error: `${name} is not there` }),
});

/** The servers of a block, from top to bottom. */
const shown = (servers: readonly ServerStatus[], rows: number): string[] =>
  statusBlock({
    status: {
      name: "pc",
      connection: "connected",
      protocol: "0.2",
      servers,
      tools: [],
      skills: [],
      problems: [],
      runningCalls: 0,
    },
    url: "http://h",
    calls: [],
    now: 0,
  }, { columns: 80, rows, colour: false })
    .flatMap(({ text }) => /^ {2}[●◌✗○] (\w+)/.exec(text)?.[1] ?? []);

Deno.test("statusBlock() shows failed MCP servers first, the others in order", () => {
  const servers = [
    server("a", "running"),
    server("b", "failed"),
    server("c", "starting"),
    server("d", "failed"),
    server("e", "disabled"),
  ];
  assertEquals(shown(servers, 24), ["b", "d", "a", "c", "e"]);
  assertEquals(shown(servers, 5), ["b", "d"]); // only servers that have not failed are cut off
});

Deno.test("statusBlock() shows the bundle_id of a server where it differs from its name", () => {
  const text = statusBlock({
    status: {
      name: "pc",
      connection: "connected",
      protocol: "0.4",
      servers: [
        { ...server("my files", "running"), bundleId: "my_files" },
        server("web", "running"),
      ],
      tools: [],
      skills: [],
      problems: [],
      runningCalls: 0,
    },
    url: "http://h",
    calls: [],
    now: 0,
  }, { columns: 80, rows: 24, colour: false }).map(({ text }) => text);
  assertEquals(text.slice(2), [
    "  ● my files (my_files)  running   1 tool",
    "  ● web                  running   1 tool",
  ]);
});

Deno.test("statusBlock() shows how far a call is, where its tool tells", () => {
  const call = { agent: "a", reqId: "1", tool: "copy", since: 0 };
  const block = (progress?: ToolProgress) =>
    statusBlock({
      status: {
        name: "pc",
        connection: "connected",
        protocol: "0.2",
        servers: [],
        tools: [],
        skills: [],
        problems: [],
        runningCalls: 1,
      },
      url: "http://h",
      calls: [{ ...call, ...(progress && { progress }) }],
      now: 5_000,
    }, { columns: 80, rows: 24, colour: false }).at(-1)?.text;
  assertEquals(block(), "  ▸ copy by a  5 s");
  assertEquals(
    block({ progress: 3, total: 5, message: "file\x1b[2J" }),
    "  ▸ copy by a  5 s  3/5 file\\u{1b}[2J",
  );
});

Deno.test("statusBlock() shows how many skills there are, if any", () => {
  const head = (skills: string[]) =>
    statusBlock({
      status: {
        name: "pc",
        connection: "connected",
        protocol: "0.4",
        servers: [],
        tools: [],
        skills,
        problems: [],
        runningCalls: 0,
      },
      url: "http://h",
      calls: [],
      now: 0,
    }, { columns: 80, rows: 24, colour: false })[1]?.text;
  assertMatch(head([]) ?? "", / as pc$/);
  assertMatch(head(["a", "b"]) ?? "", / as pc {2}skills 2$/);
});
