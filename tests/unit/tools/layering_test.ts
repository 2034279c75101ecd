import { assertEquals, assertMatch } from "@std/assert";
import layering from "../../../tools/lint/layering.ts";
import { LONG_FUNCTIONS } from "../../../tools/lint/long_functions.ts";
import shape, { MAX_LINES, MAX_PARAMETERS } from "../../../tools/lint/shape.ts";

/** Returns the findings of the layering in a file, as `rule line`. */
const faults = (file: string, source: string): string[] =>
  Deno.lint.runPlugin(layering, file, source).map(({ id, range }) =>
    `${id} ${source.slice(0, range[0]).split("\n").length}`
  );

const IMPORTS = "layering/imports";

/** Imports by the reason why they are forbidden: the file, and what it imports, or how. */
const FORBIDDEN: Readonly<Record<string, readonly [string, string][]>> = {
  "another role": [
    ["agent/agent.ts", "../server/mod.ts"],
    ["server/a/b.ts", 'export * from "../../agent/mod.ts";'],
    ["computer/a.ts", 'export type { A } from "../agent/a.ts";'],
    ["agent/a.ts", 'type A = import("../computer/a.ts").A;'],
    ["agent/a.ts", 'await import("../server/a.ts");'],
  ],
  "no role": [
    ["protocol/a.ts", 'import type { A } from "../agent/a.ts";'],
    ["protocol/a.ts", "../client/a.ts"],
    ["shared/a.ts", "../protocol/a.ts"],
  ],
  "no part": [
    ["server/a.ts", "../tests/support/a.ts"],
    ["server/a.ts", "../mod.ts"],
  ],
  "own name": [["agent/a.ts", "@a2c-smcp/sdk/server"]],
  "node:fs": [["protocol/a.ts", "node:fs"]],
  hono: [["protocol/a.ts", "hono"]],
  socket: [["protocol/a.ts", 'import type { S } from "socket.io-client";']],
  "no role imports": [
    ["client/a.ts", "../agent/a.ts"],
    ["cli/a.ts", "../server/a.ts"],
  ],
  "it may import itself": [["client/a.ts", "../cli/a.ts"]],
  "it may import": [["server/a.ts", "../client/a.ts"]],
  "may import itself": [
    ["agent/a.ts", "../mcp/mod.ts"],
    ["mcp/a.ts", "../server/mod.ts"],
  ],
  "shows its mod.ts alone": [
    ["server/main.ts", 'await import("../mcp/a.ts");'],
  ],
  "only re-exports": [["mod.ts", 'export * from "./mcp/mod.ts";']],
  "belongs to mcp": [["agent/a.ts", "@modelcontextprotocol/server"]],
  "rules alone": [
    ["server/office/a.ts", "node:timers"],
    ["server/office/a.ts", "../wire/mod.ts"],
    ["server/office/a.ts", 'import type { Hono } from "hono";'],
    ["server/office/a.ts", "../../console/a.ts"],
  ],
  "browsers do not have": [
    ["client/a.ts", "node:net"],
    ["agent/a.ts", 'await import("node:fs");'],
  ],
  "its default form": [["server/auth/a.ts", "zod"]],
  "a room above its own": [
    ["server/shared/a.ts", "../office/a.ts"],
    ["agent/options.ts", 'import type { A } from "./requests.ts";'],
    ["agent/tools.ts", "./events.ts"],
    ["protocol/payloads/a.ts", "../events.ts"],
    ["protocol/validation.ts", 'import type { A } from "./payloads/a.ts";'],
    ["protocol/events.ts", 'export { a } from "./mod.ts";'],
    ["server/limits/a.ts", "../doors/a.ts"],
    ["server/auth/a.ts", 'import type { A } from "../options.ts";'],
    ["server/options.ts", 'export { a } from "./cli/a.ts";'],
    ["server/cli/a.ts", "../main.ts"],
    ["computer/util/a.ts", "../config/inputs/a.ts"],
    ["computer/cli/ui/a.ts", 'import type { A } from "../a.ts";'],
    ["computer/host/a.ts", 'import type { A } from "../options.ts";'],
    ["server/wire/link.ts", "../fetch/mod.ts"],
    ["server/cluster/link.ts", "./tunnel_frames.ts"],
  ],
  "belongs to cli": [["client/a.ts", "commander"]],
  "belongs to client": [
    ["server/a.ts", "socket.io-client"],
    ["agent/a.ts", "socket.io-client"],
  ],
  "belongs to server": [
    ["agent/a.ts", 'import type { S } from "socket.io";'],
    ["agent/a.ts", "npm:socket.io@^4"],
  ],
  "ROLE_LAYERS does not list": [["server/attic/a.ts", "../shared/a.ts"]],
  "no role imports another role": [["agent/a.ts", "../testing/mod.ts"]],
  "testing imports cli": [["testing/a.ts", "../cli/run.ts"]],
  "front door": [
    ["mod.ts", 'export { z } from "zod";'],
    ["mod.ts", 'export { a } from "../tests/a.ts";'],
  ],
  "server/wire shows its mod.ts and its fetch_engine.ts and its stock_engine.ts alone":
    [
      ["server/doors/a.ts", 'import type { A } from "../wire/link.ts";'],
      ["server/fetch/a.ts", "../wire/fetch_socket.ts"],
    ],
  "server/cluster shows its mod.ts and its cluster_offices.ts alone": [
    ["server/cli/a.ts", 'import type { A } from "../cluster/directory/a.ts";'],
    [
      "server/operator/a.ts",
      'const { a } = await import("../cluster/links/a.ts");',
    ],
  ],
  "only server/cli/serve.ts does, with import\\(\\)": [
    ["server/server.ts", 'import type { A } from "./cluster/mod.ts";'],
    ["server/cli/a.ts", 'await import("../cluster/mod.ts");'],
    ["server/cli/serve.ts", "../cluster/mod.ts"],
  ],
};

const sourceOf = (text: string) =>
  text.includes(" ") ? text : `import { a } from "${text}";`;

Deno.test("layering forbids imports across rooms, and says what to do", () => {
  for (const [why, rows] of Object.entries(FORBIDDEN)) {
    for (const [file, text] of rows) {
      const at = `${text} in ${file}`;
      const found = Deno.lint.runPlugin(layering, file, sourceOf(text));
      assertEquals(found.map(({ id }) => id), [IMPORTS], at);
      assertMatch(found[0]?.message ?? "", new RegExp(why), at);
      assertMatch(found[0]?.hint ?? "", /\w/, at);
    }
  }
});

const ALLOWED: readonly [file: string, imported: string][] = [
  ["agent/agent.ts", "../protocol/mod.ts"],
  ["agent/tools.ts", "./requests.ts"],
  ["server/fetch/a.ts", "../wire/fetch_engine.ts"],
  ["agent/cli/a.ts", 'import type { A } from "../agent.ts";'],
  ["protocol/events.ts", 'import type { A } from "./payloads/a.ts";'],
  ["client/a.ts", "./a.ts"],
  ["agent/cli/a.ts", "node:fs/promises"],
  ["client/a.ts", 'import * as z from "zod/mini";'],
  ["computer/a.ts", "zod"],
  ["server/a.ts", "socket.io"],
  ["server/a.ts", "@hono/node-server/utils/response"],
  ["protocol/a.ts", 'import * as z from "zod/mini";'],
  ["protocol/a.ts", "std-semver"],
  ["server/doors/a.ts", 'import type { A } from "../limits/a.ts";'],
  ["server/doors/a.ts", "./b.ts"],
  ["server/wire/assembly/a.ts", "../b.ts"],
  ["server/options.ts", 'import type { A } from "./http/a.ts";'],
  ["server/cli/a.ts", 'import type { A } from "../options.ts";'],
  ["server/main.ts", "./cli/a.ts"],
  ["client/a.ts", "socket.io-client"],
  ["testing/a.ts", "../server/mod.ts"],
  ["cli/a.ts", "commander"],
  ["cli/a.ts", "../client/a.ts"],
  ["server/auth/a.ts", "../../shared/a.ts"],
  ["mod.ts", 'export { a } from "./protocol/mod.ts";'],
  ["tests/e2e/a_test.ts", "../../server/mod.ts"],
  ["tests/e2e/a_test.ts", "socket.io-client"],
  ["server/doors/a.ts", "../wire/mod.ts"],
  ["server/wire/a.ts", "./link.ts"],
  ["server/cli/serve.ts", 'await import("../cluster/mod.ts");'],
  ["server/cluster/mod.ts", 'export { a } from "./directory/a.ts";'],
  ["server/cluster/a.ts", 'import type { A } from "./mod.ts";'],
  ["tests/a_test.ts", "../server/cluster/links/a.ts"],
];

Deno.test("layering allows imports of the own room, of protocol and of packages", () => {
  for (const [file, text] of ALLOWED) {
    assertEquals(faults(file, sourceOf(text)), [], `${text} in ${file}`);
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

/** Rules of sources: the code, files in which it is a fault, and files in which it is none. */
const RULES: readonly [
  rule: string,
  code: string,
  faulty: readonly string[],
  free: readonly string[],
][] = [
  [
    "deno-global",
    "await Deno.readTextFile(path);",
    ["agent/files.ts"],
    ["computer/main.ts", "mod.ts", "tests/support/a.ts"],
  ],
  ["deno-global", "globalThis.Deno?.exit();", ["computer/a.ts"], []],
  ["deno-global", "let child: Deno.ChildProcess;", ["computer/a.ts"], []],
  [
    "event-names",
    `socket.emit("client:tool_call");`,
    ["agent/agent.ts", "protocol/payloads/tools.ts"],
    ["protocol/events.ts", "tests/e2e/a_test.ts"],
  ],
  ["event-names", "emit(`notify:${what}`);", ["server/a.ts"], []],
  ["event-names", `type E = "server:join_office";`, ["server/a.ts"], []],
  ["event-names", `log("the server: started");`, [], ["server/a.ts"]],
  // Node 22 must parse it.
  ["using", "using line = start();", ["agent/a.ts"], []],
  [
    "using",
    "await using s = start();",
    ["server/main.ts"],
    ["tests/e2e/a_test.ts"],
  ],
  ["using", "const s = start();", [], ["server/a.ts"]],
];

Deno.test("layering allows the Deno global in main.ts and tests, event names in protocol/events.ts, and `using` in tests alone", () => {
  for (const [rule, code, faulty, free] of RULES) {
    for (const file of [...faulty, ...free]) {
      const expected = faulty.includes(file) ? [`layering/${rule} 1`] : [];
      assertEquals(faults(file, code), expected, `${code} in ${file}`);
    }
  }
});

/** What writes to a terminal, each in one line. */
const PRINTS = [
  "console.log(name);",
  "const { log } = console;",
  "run(console.error);",
  'import { log } from "node:console";',
  "process.stdout.write(name);",
  "process.stderr.write?.(name);",
  "draw(process.stdout);",
  "const { env, stderr } = process;",
  "const { stdout: output } = process;",
  'import { stdout } from "node:process";',
  'import { stderr as out } from "process";',
];

Deno.test("layering forbids commands to write to the terminal but by cli/print.ts", () => {
  for (const source of PRINTS) {
    for (
      const file of [
        ...["cli/a.ts", "cli/service/a.ts", "agent/cli/a.ts", "main.ts"],
        ...["computer/cli/shell/a.ts", "server/cli/a.ts", "server/main.ts"],
      ]
    ) {
      const found = faults(file, source);
      assertEquals(found, ["layering/printing 1"], `${source} in ${file}`);
    }
    for (const file of ["cli/print.ts", "tests/a_test.ts", "bench/main.ts"]) {
      assertEquals(faults(file, source), [], `${source} in ${file}`);
    }
  }
});

Deno.test("layering lets commands ask what a terminal is, and some hand it over; none of these uses the console", () => {
  for (
    const source of [
      "if (process.stdout.isTTY) a();",
      "const width = process.stderr.columns ?? 80;",
      "const { env, platform } = process;",
      "process.stdin.pause();",
    ]
  ) assertEquals(faults("agent/cli/a.ts", source), [], source);
  for (const file of ["computer/cli/run.ts", "server/cli/logging.ts"]) {
    assertEquals(faults(file, "draw(process.stdout);"), [], file);
    assertEquals(
      faults(file, "console.log(a);"),
      ["layering/printing 1"],
      file,
    );
  }
});

Deno.test("layering forbids to change the environment, which tests share", () => {
  for (
    const source of ['Deno.env.set("A", "b");', 'Deno.env?.delete("A");']
  ) {
    const found = faults("tests/a_test.ts", source);
    assertEquals(found, ["layering/environment 1"], source);
  }
  const reads = 'Deno.env.get("A"); Deno.env.toObject(); new Map().set(1, 2);';
  assertEquals(faults("tests/a_test.ts", reads), []);
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
    assertEquals(faults("protocol/profiles.ts", free), [], source);
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

/** Declarations of each kind that has parameters. */
const KINDS: Readonly<Record<string, (parameters: string) => string>> = {
  "a function": (p) => `function f(${p}) {}`,
  "a function expression": (p) => `const f = function (${p}) {};`,
  "an arrow function": (p) => `const f = (${p}) => {};`,
  "a generator": (p) => `async function* f(${p}) {}`,
  "a method": (p) => `class A { m(${p}) {} }`,
  "a private method": (p) => `class A { #m(${p}) {} }`,
  "a static field": (p) => `class A { static f = (${p}) => {}; }`,
  "a constructor": (p) => `class A { constructor(${p}) {} }`,
  "an abstract method": (p) => `abstract class A { abstract m(${p}): void; }`,
  "a method of an object": (p) => `const a = { m(${p}) {} };`,
  "an overload": (p) => `declare function f(${p}): void;`,
  "a type of a function": (p) => `type F = (${p}) => void;`,
  "a type of a constructor": (p) => `type F = new (${p}) => A;`,
  "a method of an interface": (p) => `interface A { m(${p}): void }`,
  "a call of an interface": (p) => `interface A { (${p}): void }`,
  "a constructor of an interface": (p) => `interface A { new (${p}): A }`,
};

/** A list of parameters. */
const parameters = (count: number): string =>
  Array.from({ length: count }, (_, i) => `p${i}: P`).join(", ");

/** How often the rule of parameters finds a source. */
const tooMany = (source: string): string[] =>
  Deno.lint.runPlugin(shape, "server/a.ts", source).map(({ id, message }) =>
    `${id}: ${message}`
  );

Deno.test("shape: everything that takes parameters takes at most four", () => {
  const fault = "shape/max-parameters: Takes 5 parameters; the limit is 4";
  for (const [kind, declare] of Object.entries(KINDS)) {
    assertEquals(tooMany(declare(parameters(MAX_PARAMETERS))), [], kind);
    const declared = declare(parameters(MAX_PARAMETERS + 1));
    assertEquals(tooMany(declared), [fault], kind);
  }
});

Deno.test("shape: defaults, patterns, rests and properties count as one parameter each, `this` as none", () => {
  const four = "a = 1, { b, c, d }: B, [e, f]: E, ...g: G[]";
  const five = "private a: A, b: B, c: C, d: D, e: E";
  for (
    const [source, count] of [
      [`function f(${four}) {}`, 0],
      [`function f(this: A, ${four}) {}`, 0],
      [`function f(a: A, ${four}) {}`, 1],
      [`class A { constructor(${five}) {} }`, 1],
    ] as const
  ) assertEquals(tooMany(source).length, count, source);
});

Deno.test("shape: a function within another is counted by itself", () => {
  const inner = `(${parameters(5)}) => (${parameters(6)}) => {}`;
  assertEquals(tooMany(`function f(${parameters(4)}) { return ${inner}; }`), [
    "shape/max-parameters: Takes 5 parameters; the limit is 4",
    "shape/max-parameters: Takes 6 parameters; the limit is 4",
  ]);
});

Deno.test("shape: fields and variables are written one by one, not wrapped for the formatter", () => {
  const found = (source: string) =>
    Deno.lint.runPlugin(shape, "server/a.ts", source).map(({ id }) => id);
  for (
    const source of [
      "const a = { ...{ b, c }, d };",
      "const [a, b] = [1, 2];",
      "const [a, b]: [string[], string[]] = [[], []];",
    ]
  ) assertEquals(found(source), ["shape/plain-fields"], source);
  for (
    const source of [
      "const a = { ...b, ...(c && { d }) };",
      "const { a, ...rest } = { ...b };",
      "const [first] = [...files];",
      "[a, b] = [b, a];",
    ]
  ) assertEquals(found(source), [], source);
});

/** Ways to declare a function, each with a name in front of its body. */
const FUNCTIONS: readonly ((body: string) => string)[] = [
  (body) => `function long() {${body}}`,
  (body) => `const long = () => {${body}};`,
  (body) => `const a = { long() {${body}} };`,
  (body) => `const a = { long: async () => {${body}} };`,
  (body) => `class A { long() {${body}} }`,
  (body) => `const a = { get long() {${body}} };`,
];

Deno.test("shape: a function of the package has at most 60 lines, each by itself", () => {
  const found = (file: string, source: string) =>
    Deno.lint.runPlugin(shape, file, source).map(({ message }) => message);
  const most = "\n".repeat(MAX_LINES - 1);
  const fault = "long has 61 lines; the limit is 60";
  for (const declare of FUNCTIONS) {
    assertEquals(found("mcp/a.ts", declare(most)), [], declare(""));
    assertEquals(found("mcp/a.ts", declare(`${most}\n`)), [fault], declare(""));
  }
  const method = `class A { #long() {${most}\n} }`;
  assertEquals(found("console/page/a.js", method), [`#${fault}`]);
  const both = `function outer() { run(() => {${most}\n}); }`;
  assertEquals(found("main.ts", both), [
    "outer has 61 lines; the limit is 60",
    "a function without a name has 61 lines; the limit is 60",
  ]);
  assertEquals(found("tests/a_test.ts", method), []);
  assertEquals(found("tools/a.ts", method), []);
});

Deno.test("shape: each function that may be longer is longer", async () => {
  for (const [file, names] of Object.entries(LONG_FUNCTIONS)) {
    const url = new URL(`../../../${file}`, import.meta.url);
    const source = await Deno.readTextFile(url);
    // By another path, it is no exception.
    const room = file.slice(0, file.indexOf("/"));
    const extension = file.slice(file.lastIndexOf("."));
    const found = Deno.lint.runPlugin(shape, `${room}/a${extension}`, source)
      .filter(({ id }) => id === "shape/max-lines")
      .map(({ message }) => message.slice(0, message.indexOf(" has ")));
    assertEquals(found.toSorted(), names.toSorted(), file);
  }
});
