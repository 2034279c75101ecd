import { assertEquals, assertMatch } from "@std/assert";
import plugin from "../../../tools/lint/layering.ts";

/** Returns the findings of the plugin for a file, as `rule line`. */
const faults = (file: string, source: string): string[] =>
  Deno.lint.runPlugin(plugin, file, source).map(({ id, range }) =>
    `${id} ${source.slice(0, range[0]).split("\n").length}`
  );

const IMPORTS = "layering/imports";

const forbidden: [file: string, source: string, why: string][] = [
  [
    "agent/agent.ts",
    `import { a } from "../server/mod.ts";`,
    "another role",
  ],
  ["server/a/b.ts", `export * from "../../agent/mod.ts";`, "another role"],
  [
    "computer/a.ts",
    `export type { A } from "../agent/a.ts";`,
    "another role",
  ],
  ["agent/a.ts", `type A = import("../computer/a.ts").A;`, "another role"],
  ["agent/a.ts", `await import("../server/a.ts");`, "another role"],
  ["protocol/a.ts", `import type { A } from "../agent/a.ts";`, "no role"],
  ["server/a.ts", `import { a } from "../tests/support/a.ts";`, "no part"],
  ["server/a.ts", `import { a } from "../mod.ts";`, "no part"],
  ["agent/a.ts", `import { a } from "@a2c-smcp/sdk/server";`, "own name"],
  ["protocol/a.ts", `import { readFile } from "node:fs";`, "node:fs"],
  ["protocol/a.ts", `import { Hono } from "hono";`, "hono"],
  ["protocol/a.ts", `import type { S } from "socket.io-client";`, "socket"],
  ["protocol/a.ts", `import { a } from "../client/a.ts";`, "no role"],
  ["shared/a.ts", `import { a } from "../protocol/a.ts";`, "no role"],
  ["client/a.ts", `import { a } from "../agent/a.ts";`, "no role imports"],
  [
    "client/a.ts",
    `import { a } from "../cli/a.ts";`,
    "it may import itself",
  ],
  ["cli/a.ts", `import { a } from "../server/a.ts";`, "no role imports"],
  ["server/a.ts", `import { a } from "../client/a.ts";`, "it may import"],
  ["agent/a.ts", `import { a } from "../mcp/mod.ts";`, "may import itself"],
  ["mcp/a.ts", `import { a } from "../server/mod.ts";`, "may import itself"],
  ["server/main.ts", `await import("../mcp/a.ts");`, "shows its mod.ts alone"],
  ["mod.ts", `export * from "./mcp/mod.ts";`, "only re-exports"],
  [
    "agent/a.ts",
    `import { Server } from "@modelcontextprotocol/server";`,
    "belongs to mcp",
  ],
  ["server/office/a.ts", `import { a } from "node:timers";`, "rules alone"],
  ["client/a.ts", `import { a } from "node:net";`, "browsers do not have"],
  ["agent/a.ts", `await import("node:fs");`, "browsers do not have"],
  ["server/auth/a.ts", `import { z } from "zod";`, "its default form"],
  ["server/office/a.ts", `import { a } from "../wire/mod.ts";`, "rules alone"],
  [
    "server/office/a.ts",
    `import type { Hono } from "hono";`,
    "rules alone",
  ],
  [
    "server/office/a.ts",
    `import { a } from "../../console/a.ts";`,
    "rules alone",
  ],
  [
    "server/shared/a.ts",
    `import { a } from "../office/a.ts";`,
    "above its own",
  ],
  ["client/a.ts", `import { Command } from "commander";`, "belongs to cli"],
  [
    "server/a.ts",
    `import { io } from "socket.io-client";`,
    "belongs to client",
  ],
  [
    "agent/a.ts",
    `import { io } from "socket.io-client";`,
    "belongs to client",
  ],
  [
    "agent/options.ts",
    `import type { A } from "./requests.ts";`,
    "a room above its own",
  ],
  [
    "agent/tools.ts",
    `import { a } from "./events.ts";`,
    "a room above its own",
  ],
  [
    "protocol/payloads/a.ts",
    `import { a } from "../events.ts";`,
    "a room above its own",
  ],
  [
    "protocol/validation.ts",
    `import type { A } from "./payloads/a.ts";`,
    "a room above its own",
  ],
  [
    "protocol/events.ts",
    `export { a } from "./mod.ts";`,
    "a room above its own",
  ],
  ["agent/a.ts", `import type { S } from "socket.io";`, "belongs to server"],
  ["agent/a.ts", `import { S } from "npm:socket.io@^4";`, "belongs to server"],
  [
    "server/limits/a.ts",
    `import { a } from "../doors/a.ts";`,
    "a room above its own",
  ],
  [
    "server/auth/a.ts",
    `import type { A } from "../options.ts";`,
    "a room above its own",
  ],
  [
    "server/options.ts",
    `export { a } from "./cli/a.ts";`,
    "a room above its own",
  ],
  [
    "server/cli/a.ts",
    `import { a } from "../main.ts";`,
    "a room above its own",
  ],
  [
    "computer/util/a.ts",
    `import { a } from "../config/inputs/a.ts";`,
    "a room above its own",
  ],
  [
    "computer/cli/ui/a.ts",
    `import type { A } from "../a.ts";`,
    "a room above its own",
  ],
  [
    "computer/host/a.ts",
    `import type { A } from "../options.ts";`,
    "a room above its own",
  ],
  [
    "server/attic/a.ts",
    `import { a } from "../shared/a.ts";`,
    "ROLE_LAYERS does not list",
  ],
  [
    "agent/a.ts",
    `import { startOffice } from "../testing/mod.ts";`,
    "no role imports another role",
  ],
  [
    "testing/a.ts",
    `import { main } from "../cli/run.ts";`,
    "testing imports cli",
  ],
  ["mod.ts", `export { z } from "zod";`, "front door"],
  [
    "server/doors/a.ts",
    `import type { A } from "../wire/link.ts";`,
    "server/wire shows its mod.ts and its fetch_engine.ts and its stock_engine.ts alone",
  ],
  [
    "server/fetch/a.ts",
    `import { a } from "../wire/fetch_socket.ts";`,
    "server/wire shows its mod.ts and its fetch_engine.ts and its stock_engine.ts alone",
  ],
  [
    "server/wire/link.ts",
    `import { a } from "../fetch/mod.ts";`,
    "a room above its own",
  ],
  ["mod.ts", `export { a } from "../tests/a.ts";`, "front door"],
  [
    "server/cli/a.ts",
    `import type { A } from "../cluster/directory/a.ts";`,
    "server/cluster shows its mod.ts and its cluster_offices.ts alone",
  ],
  [
    "server/operator/a.ts",
    `const { a } = await import("../cluster/links/a.ts");`,
    "server/cluster shows its mod.ts and its cluster_offices.ts alone",
  ],
  [
    "server/server.ts",
    `import type { A } from "./cluster/mod.ts";`,
    "only server/cli/serve.ts does, with import\\(\\)",
  ],
  [
    "server/cli/a.ts",
    `await import("../cluster/mod.ts");`,
    "only server/cli/serve.ts does, with import\\(\\)",
  ],
  [
    "server/cli/serve.ts",
    `import { joinCluster } from "../cluster/mod.ts";`,
    "only server/cli/serve.ts does, with import\\(\\)",
  ],
  [
    "server/cluster/link.ts",
    `import { a } from "./tunnel_frames.ts";`,
    "a room above its own",
  ],
];

Deno.test("layering forbids imports across rooms, and says what to do", () => {
  for (const [file, source, why] of forbidden) {
    const at = `${source} in ${file}`;
    const [fault, ...rest] = Deno.lint.runPlugin(plugin, file, source);
    assertEquals(rest, [], at);
    assertEquals(fault?.id, IMPORTS, at);
    assertMatch(fault?.message ?? "", new RegExp(why), at);
    assertMatch(fault?.hint ?? "", /\w/, at);
  }
});

const allowed: [file: string, source: string][] = [
  ["agent/agent.ts", `import { a } from "../protocol/mod.ts";`],
  ["agent/tools.ts", `import { a } from "./requests.ts";`],
  ["server/fetch/a.ts", `import { a } from "../wire/fetch_engine.ts";`],
  ["agent/cli/a.ts", `import type { A } from "../agent.ts";`],
  ["protocol/events.ts", `import type { A } from "./payloads/a.ts";`],
  ["client/a.ts", `import { a } from "./a.ts";`],
  ["agent/cli/a.ts", `import { readFile } from "node:fs/promises";`],
  ["client/a.ts", `import * as z from "zod/mini";`],
  ["computer/a.ts", `import { z } from "zod";`],
  ["server/a.ts", `import { Server } from "socket.io";`],
  ["server/a.ts", `import { serve } from "@hono/node-server/utils/response";`],
  ["protocol/a.ts", `import * as z from "zod/mini";`],
  ["protocol/a.ts", `import { parse } from "std-semver";`],
  ["server/doors/a.ts", `import type { A } from "../limits/a.ts";`],
  ["server/doors/a.ts", `import { b } from "./b.ts";`],
  ["server/wire/assembly/a.ts", `import { b } from "../b.ts";`],
  ["server/options.ts", `import type { A } from "./http/a.ts";`],
  ["server/cli/a.ts", `import type { A } from "../options.ts";`],
  ["server/main.ts", `import { a } from "./cli/a.ts";`],
  ["client/a.ts", `import { io } from "socket.io-client";`],
  ["testing/a.ts", `import { createSmcpServer } from "../server/mod.ts";`],
  ["cli/a.ts", `import { Command } from "commander";`],
  ["cli/a.ts", `import { a } from "../client/a.ts";`],
  ["server/auth/a.ts", `import { a } from "../../shared/a.ts";`],
  ["mod.ts", `export { a } from "./protocol/mod.ts";`],
  ["tests/e2e/a_test.ts", `import { a } from "../../server/mod.ts";`],
  ["tests/e2e/a_test.ts", `import { io } from "socket.io-client";`],
  ["server/doors/a.ts", `import { a } from "../wire/mod.ts";`],
  ["server/wire/a.ts", `import { a } from "./link.ts";`],
  ["server/cli/serve.ts", `await import("../cluster/mod.ts");`],
  ["server/cluster/mod.ts", `export { a } from "./directory/a.ts";`],
  ["server/cluster/a.ts", `import type { A } from "./mod.ts";`],
  ["tests/a_test.ts", `import { a } from "../server/cluster/links/a.ts";`],
];

Deno.test("layering allows imports of the own room, of protocol and of packages", () => {
  for (const [file, source] of allowed) {
    assertEquals(faults(file, source), [], `${source} in ${file}`);
  }
});

Deno.test("layering reports each fault of a file with its own line", () => {
  const source = [
    `import { a } from "../server/a.ts";`,
    `import { b } from "../protocol/b.ts";`,
    `import { c } from "../computer/c.ts";`,
    `export const args = Deno.args;`,
  ].join("\n");
  assertEquals(faults("agent/a.ts", source).toSorted(), [
    "layering/deno-global 4",
    `${IMPORTS} 1`,
    `${IMPORTS} 3`,
  ]);
});

Deno.test("layering allows the Deno global only in main.ts and tests", () => {
  const source = "await Deno.readTextFile(path);";
  const rule = ["layering/deno-global 1"];
  assertEquals(faults("agent/files.ts", source), rule);
  assertEquals(faults("computer/a.ts", "globalThis.Deno?.exit();"), rule);
  assertEquals(faults("computer/a.ts", "let child: Deno.ChildProcess;"), rule);
  assertEquals(faults("computer/main.ts", source), []);
  assertEquals(faults("mod.ts", source), []);
  assertEquals(faults("tests/support/a.ts", source), []);
});

Deno.test("layering allows event names only in protocol/events.ts", () => {
  const source = `socket.emit("client:tool_call");`;
  const rule = ["layering/event-names 1"];
  assertEquals(faults("agent/agent.ts", source), rule);
  assertEquals(faults("protocol/payloads/tools.ts", source), rule);
  assertEquals(faults("server/a.ts", "emit(`notify:${what}`);"), rule);
  assertEquals(faults("server/a.ts", `type E = "server:join_office";`), rule);
  assertEquals(faults("protocol/events.ts", source), []);
  assertEquals(faults("tests/e2e/a_test.ts", source), []);
  assertEquals(faults("server/a.ts", `log("the server: started");`), []);
});

Deno.test("layering forbids `using` in code that Node 22 must parse", () => {
  const rule = ["layering/using 1"];
  assertEquals(faults("agent/a.ts", "using line = start();"), rule);
  assertEquals(faults("server/main.ts", "await using s = start();"), rule);
  assertEquals(faults("server/a.ts", "const s = start();"), []);
  assertEquals(faults("tests/e2e/a_test.ts", "await using s = start();"), []);
});

const COMPARED = ["layering/versions 1"];

Deno.test("layering forbids to compare a version of the protocol outside of protocol/ and the gate", () => {
  for (
    const source of [
      `if (name === "0.4") a();`,
      `if ("0.1" != peer.protocol) a();`,
      `if (version < "0.3.1") a();`,
      `if (a.protocol === b.protocol) a();`,
      `if (peer?.profile !== own.profile) a();`,
      `const isOld = OLD[protocol] === "0.2";`,
      `const isSame = found!.protocol === protocol;`,
      `switch (name) { case "0.2": a(); }`,
      `const isOld = ["0.1", "0.2"].includes(name);`,
      `const OLD = ["0.1", "0.2"] as const;`,
      `const old = new Set(["0.1"]);`,
      `import { isCompatible } from "../protocol/mod.ts";`,
      `import { supportedRange as range } from "../protocol/handshake.ts";`,
    ]
  ) {
    for (const file of ["server/a.ts", "agent/a.ts", "mcp/a.ts"]) {
      assertEquals(faults(file, source), COMPARED, `${source} in ${file}`);
    }
    const free = source.replace("../protocol/mod.ts", "./version.ts")
      .replace("../protocol/", "./");
    assertEquals(faults("protocol/translate.ts", free), [], source);
    assertEquals(faults("tests/e2e/a_test.ts", source), [], source);
  }
  const gate = `import { checkVersion } from "../../protocol/mod.ts";`;
  assertEquals(faults("server/http/gate.ts", gate), []);
  assertEquals(faults("server/http/a.ts", gate), COMPARED);
  const choice = `const NAMES = ["0.2", "0.3"];`;
  assertEquals(faults("client/versions.ts", choice), []);
  assertEquals(faults("client/socket_wire.ts", choice), COMPARED);
});

Deno.test("layering allows to name a version, to show it, and to read what its profile says", () => {
  for (
    const source of [
      `const profile = PROFILES["0.4"];`,
      `option.default(["0.2"], "0.2");`,
      `type Client = Exclude<ProtocolName, "0.1">;`,
      `if (protocol === undefined || null != profile) a();`,
      `if (protocol !== "auto") a();`,
      `if (url.protocol === "https:") a();`,
      `if (profile.lacks.includes(event)) a();`,
      `const buckets = [0.1, 0.2, 0.5];`,
      `if (share === 0.5) a();`,
      `import { checkVersion } from "./certificates.ts";`,
      `import { PROTOCOL_VERSIONS } from "../protocol/mod.ts";`,
    ]
  ) {
    assertEquals(faults("server/a.ts", source), [], source);
  }
});
