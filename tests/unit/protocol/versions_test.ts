import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  checkVersion,
  isCompatible,
  parseVersion,
  supportedRange,
  type VersionCheck,
} from "../../../protocol/handshake.ts";
import {
  CLIENT_EVENTS,
  type ClientEvent,
  isClientEvent,
} from "../../../protocol/mod.ts";
import {
  eventOf,
  isTranslated,
  nameOfProfile,
  newServerNames,
  PROFILES,
  shownTo,
  translateAnswer,
  translateNotice,
  translateRequest,
  unknownTo,
} from "../../../protocol/profiles.ts";
import {
  PROTOCOL_NAMES,
  PROTOCOL_VERSION,
  SMCP_NAMESPACE,
  VERSION_PARAMETER,
} from "../../../protocol/version.ts";

/** Spec §2's table: client, server, whether the gate lets it pass. */
const TABLE: [client: string, server: string, compatible: boolean][] = [
  ["0.2.0", "0.2.0", true],
  ["0.2.1", "0.2.0", true],
  ["0.2.0", "0.3.0", false],
  ["0.3.0", "0.2.0", false],
  ["1.0.0", "0.2.0", false],
  ["1.0.0", "1.2.0", true],
  ["1.2.0", "1.0.0", false],
];

/** What follows from the rule, beyond the table. */
const RULE: [client: string, server: string, compatible: boolean][] = [
  ["0.2.0", "0.2.7", true],
  ["0.2.9007199254740991", "0.2.0", true],
  ["0.1.5", "0.2.0", false],
  ["0.2.0", "1.2.0", false],
  ["1.2.99", "1.2.0", true],
  ["1.2.0", "1.2.99", true],
  ["2.0.0", "1.9.0", false],
  ["1.9.0", "2.9.0", false],
  ["0.0.1", "0.0.9", true],
];

/** Everything that is not exactly three plain non-negative integers. */
const INVALID = [
  ...["abc", "1.2", "1.2.3.4", "v0.2.0", "0.2.0-rc1", "0.2.0+build"],
  ...["00.2.0", "0.02.0", "0.2.00", " 0.2.0", "0.2.0 ", "0.2.0\n", "", "."],
  ...["..", "0..0", "-0.2.0", "+0.2.0", "0.-2.0", "0x0.2.0", "1e1.2.0"],
  ...["0,2,0", "٠.٢.٠", "9007199254740992.0.0", "0.9007199254740992.0"],
  ...["0.2.9007199254740992", `${"9".repeat(400)}.0.0`],
];

const PLAIN_INTEGERS = /^Invalid a2c_version: .+/;

const bodyBytes = (result: VersionCheck): string =>
  JSON.stringify(result.ok ? undefined : result.body);

Deno.test("PROTOCOL_VERSION and the constants of the handshake are those of the spec", () => {
  assertEquals(PROTOCOL_VERSION, "0.2.0");
  assertEquals(SMCP_NAMESPACE, "/smcp");
  assertEquals(VERSION_PARAMETER, "a2c_version");
});

Deno.test("isCompatible() answers as the version table of the spec", () => {
  for (const [client, server, compatible] of [...TABLE, ...RULE]) {
    const at = `${client} → ${server}`;
    assertEquals(isCompatible(client, server), compatible, at);
    assertEquals(
      isCompatible(parseVersion(client), parseVersion(server)),
      compatible,
      at,
    );
  }
});

Deno.test("parseVersion() reads three plain non-negative integers", () => {
  const { major, minor, patch } = parseVersion("10.20.9007199254740991");
  assertEquals([major, minor, patch], [10, 20, Number.MAX_SAFE_INTEGER]);
});

Deno.test("parseVersion() refuses everything else as 400 that says why", () => {
  for (const text of INVALID) {
    const error = assertThrows(() => parseVersion(text), ProtocolError);
    assertEquals(error.code, 400, text);
    assertMatch(error.message, PLAIN_INTEGERS, text);
  }
  const quoted = (text: string) =>
    assertThrows(() => parseVersion(text), Error).message.split("got ")[1];
  const long = "x".repeat(40);
  assertEquals(quoted(long), `"${long}"`);
  assertEquals(quoted(`${long}y`), `"${long}…"`);
});

Deno.test("supportedRange() is one minor before 1.0, all minors up to the server's from then on", () => {
  const ranges: [server: string, min: string, max: string][] = [
    ["0.2.0", "0.2.0", "0.2.999"],
    ["0.1.7", "0.1.0", "0.1.999"],
    ["1.0.0", "1.0.0", "1.0.999"],
    ["1.4.2", "1.0.0", "1.4.999"],
    ["2.3.0", "2.0.0", "2.3.999"],
  ];
  for (const [server, min, max] of ranges) {
    assertEquals(supportedRange(server), { min, max }, server);
  }
});

Deno.test("checkVersion() lets compatible versions pass, and says which it was", () => {
  for (const [client, server, compatible] of [...TABLE, ...RULE]) {
    const at = `${client} → ${server}`;
    const result = checkVersion([client], server);
    assertEquals(result.ok, compatible, at);
    if (result.ok) assertEquals(result.version, client, at);
    else assertEquals(result.body.code, 4008, at);
  }
});

Deno.test("checkVersion() answers a missing, repeated or incompatible version with the exact bytes", () => {
  const mismatch = '{"code":4008,"message":"Protocol version mismatch"';
  const rows: [sent: string[], server: string, body: string][] = [
    [
      [],
      "0.2.0",
      '{"code":400,"message":"Missing a2c_version query parameter"}',
    ],
    [
      ["0.2.0", "0.2.0"], // even the right one
      "0.2.0",
      '{"code":400,"message":"Invalid a2c_version: given 2 times, expected once"}',
    ],
    [
      ["0.1.5"],
      "0.2.0",
      `${mismatch},"server_version":"0.2.0","client_version":"0.1.5","min_supported":"0.2.0","max_supported":"0.2.999"}`,
    ],
    [
      ["1.3.0"],
      "1.2.4",
      `${mismatch},"server_version":"1.2.4","client_version":"1.3.0","min_supported":"1.0.0","max_supported":"1.2.999"}`,
    ],
  ];
  for (const [sent, server, body] of rows) {
    assertEquals(bodyBytes(checkVersion(sent, server)), body);
  }
});

Deno.test("checkVersion() answers an invalid version with 400 and why, a hostile one in short", () => {
  const hostile = ["9".repeat(10_000), "x".repeat(10_000)];
  for (const text of [...INVALID, ...hostile]) {
    const result = checkVersion([text], PROTOCOL_VERSION);
    assert(!result.ok, text);
    assertEquals(Object.keys(result.body), ["code", "message"], text);
    assertEquals(result.body.code, 400, text);
    assertMatch(result.body.message, PLAIN_INTEGERS, text);
    assert(bodyBytes(result).length < 200, text);
  }
});

Deno.test("nameOfProfile() names the version of each profile", () => {
  for (const name of PROTOCOL_NAMES) {
    assertEquals(nameOfProfile(PROFILES[name]), name);
  }
  assertThrows(
    () => nameOfProfile({ ...PROFILES["0.4"], version: "9.9.9" }),
    RangeError,
    "No version has this profile: 9.9.9",
  );
});

Deno.test("eventOf() finds the event of a version's name, an older one included", () => {
  const { "0.1": oldest, "0.4": newest } = PROFILES;
  const renamed = Object.entries(oldest.olderNames);
  assert(renamed.length > 0);
  for (const [event, older] of renamed) {
    const isRequest = !event.startsWith("notify:");
    assertEquals(eventOf(oldest, older), isRequest ? event : undefined, older);
    assertEquals(eventOf(newest, older), undefined, older);
  }
  assertEquals(eventOf(newest, "client:get_dpe"), "client:get_dpe");
  assertEquals(eventOf(oldest, "client:get_dpe"), undefined);
  assertEquals(eventOf(newest, "client:unknown"), undefined);
});

const OLD = PROFILES["0.2"];
const NEW = PROFILES["0.4"];

const server = (name: string, more: object = {}) => ({
  ...{ name, type: "stdio", server_parameters: { command: "x" } },
  ...more,
});
const configOf = (servers: Record<string, object>, inputs?: unknown) => ({
  servers,
  ...(inputs !== undefined && { inputs }),
});
const asked = (mcp_server: string) => ({ agent: "a", mcp_server });
const keysOf = (answer: unknown): [string, unknown, unknown][] =>
  Object.entries(Object(answer).servers).map(([key, value]) => {
    const { name, bundle_id } = Object(value);
    return [key, name, bundle_id];
  });

Deno.test("isTranslated(): only what names MCP servers, only between 0.2 and 0.3, and never a tool call (0.4 §1.2)", () => {
  const versions = Object.values(PROFILES);
  const named = Object.entries(PROFILES).filter(([, it]) => it.bundleIds);
  assertEquals(named.map(([name]) => name), ["0.3", "0.4"]);
  const events = Object.keys(CLIENT_EVENTS).filter(isClientEvent);
  const between = (one: typeof OLD, other: typeof OLD) =>
    events.filter((event) => isTranslated(event, one, other));
  const naming: ClientEvent[] = [
    "client:get_tools",
    "client:get_config",
    "client:get_resources",
    "client:read_resource",
    "client:watch_resource",
    "client:get_prompts",
    "client:get_prompt",
  ];
  for (const one of versions) {
    for (const other of versions) {
      const differs = one.bundleIds !== other.bundleIds;
      assertEquals(between(one, other).sort(), differs ? naming.sort() : []);
      assertEquals(
        isTranslated("notify:update_resources", one, other),
        differs,
      );
    }
  }
  assertEquals(isTranslated("client:tool_call", OLD, NEW), false);
});

Deno.test("unknownTo() is the 400 that names the Computer, its version and the event (0.4 §5)", () => {
  assertEquals(unknownTo("laptop", OLD, "client:put_blob").toPayload(), {
    computer: "laptop",
    code: 400,
    message: "laptop speaks A2C-SMCP 0.2, which has no client:put_blob",
  });
  assertEquals(
    unknownTo("old", PROFILES["0.1"], "client:get_resources").message,
    "old speaks A2C-SMCP 0.1, which has no client:get_resources",
  );
});

Deno.test("shownTo() leaves a2c_version out for 0.1 alone, whatever the member speaks (spec §12)", () => {
  const info = {
    ...{ sid: "s", name: "pc", role: "computer", office_id: "o" } as const,
    a2c_version: "0.4.0",
  };
  const { a2c_version: _, ...without } = info;
  for (const [name, profile] of Object.entries(PROFILES)) {
    assertEquals(shownTo(profile, info), name === "0.1" ? without : info);
  }
});

Deno.test("get_tools of an older Computer: bundle_id from the tag, derived, numbered, or mcp (0.4 §3.2, §3.6)", () => {
  const names = newServerNames();
  const tool = (server?: string, more: object = {}) => ({
    name: "t",
    ...(server !== undefined && { meta: { a2c_mcp_server: server } }),
    ...more,
  });
  const rows: [object, string][] = [
    [tool("files"), "files"],
    [tool("My Server!"), "My_Server"],
    [tool("My.Server"), "My_Server-2"],
    [tool("files"), "files"],
    [tool("a__b"), "a_b"],
    [tool("🛰 🛰"), "mcp"],
    [tool("…"), "mcp-2"],
    [tool(undefined), "mcp"],
    [tool("files", { bundle_id: "own" }), "own"],
    [tool("files", { bundle_id: null }), "files"],
    [{ name: "t", meta: null }, "mcp"],
  ];
  const answer = { tools: rows.map(([tool]) => tool), req_id: "1", more: 1 };
  const before = structuredClone(answer);
  assertEquals(translateAnswer("client:get_tools", answer, names, NEW), {
    ...answer,
    tools: rows.map(([tool, bundle_id]) => ({ ...tool, bundle_id })),
  });
  assertEquals(answer, before, "the answer itself does not change");
  const back = (id: string) => translateRequest(asked(id), names);
  assertEquals(back("My_Server"), asked("My Server!"));
  assertEquals(back("My_Server-2"), asked("My.Server"));
  assertEquals(back("mcp-2"), asked("…"));
  assertEquals(back("nobody"), asked("nobody"));
});

Deno.test("get_tools without tags: the only MCP server that is known, else mcp (0.4 §3.6)", () => {
  const idOf = (servers: Record<string, object>) => {
    const names = newServerNames();
    translateAnswer("client:get_config", configOf(servers), names, NEW);
    const answer = { tools: [{ name: "t" }] };
    const { tools: [tool] } = Object(
      translateAnswer("client:get_tools", answer, names, NEW),
    );
    return tool.bundle_id;
  };
  assertEquals(idOf({ "the files": server("the files") }), "the_files");
  assertEquals(idOf({ a: server("a"), b: server("b") }), "mcp");
  assertEquals(idOf({}), "mcp");
});

Deno.test("get_tools of a newer Computer passes unchanged to an older Agent: names of tools are opaque", () => {
  const answer = { tools: [{ name: "a__b", bundle_id: "a" }], req_id: "1" };
  const translated = translateAnswer(
    "client:get_tools",
    answer,
    newServerNames(),
    OLD,
  );
  assertEquals(translated === answer, true);
});

Deno.test("get_config for a newer Agent: keys and bundle_id are derived, explicit ones stay, a clash gets a number (0.4 §3.4)", () => {
  const names = newServerNames();
  const answer = configOf({
    "my files": server("my files"),
    "my/files": server("my/files"),
    tagged: server("tagged", { bundle_id: "own-id" }),
    bad: server("bad", { bundle_id: "a__b" }),
    odd: 7 as unknown as object,
  });
  const translate = () =>
    translateAnswer("client:get_config", answer, names, NEW);
  const expected: [string, unknown, unknown][] = [
    ["my_files", "my files", "my_files"],
    ["my_files-2", "my/files", "my_files-2"],
    ["own-id", "tagged", "own-id"],
    ["bad", "bad", "bad"],
    ["odd", undefined, undefined],
  ];
  assertEquals(keysOf(translate()), expected);
  assertEquals(keysOf(translate()), expected, "the same again");
  assertEquals(translateRequest(asked("own-id"), names), asked("tagged"));
  // What was given keeps its meaning when the order changes.
  const { servers } = answer;
  const turned = configOf({
    "my/files": servers["my/files"]!,
    "my files": servers["my files"]!,
  });
  assertEquals(
    keysOf(translateAnswer("client:get_config", turned, names, NEW))
      .map(([key]) => key),
    ["my_files-2", "my_files"],
  );
});

Deno.test("get_config for an older Agent: keys become names where they are unique (spec §4; 0.4 §3)", () => {
  const names = newServerNames();
  const answer = configOf({
    files: server("The Files", { bundle_id: "files" }),
    one: server("twin"),
    two: server("twin"),
    three: server(""),
    four: server("files"),
  });
  const expected: [string, unknown, unknown][] = [
    ["The Files", "The Files", "files"],
    ["one", "one", undefined],
    ["two", "two", undefined],
    ["three", "three", undefined],
    ["four", "four", undefined],
  ];
  const translate = (answer: unknown) =>
    keysOf(translateAnswer("client:get_config", answer, names, OLD));
  assertEquals(translate(answer), expected);
  assertEquals(translateRequest(asked("The Files"), names), asked("files"));
  assertEquals(translateRequest(asked("twin"), names), asked("twin"));
  assertEquals(translateRequest(asked("files"), names), asked("files"));
  // A server that takes the name of another gets a number: the name keeps its meaning.
  const later = configOf({ other: server("The Files") });
  assertEquals(translate(later), [["The Files-2", "The Files-2", undefined]]);
  assertEquals(translate(later), [["The Files-2", "The Files-2", undefined]]);
  assertEquals(translateRequest(asked("The Files-2"), names), asked("other"));
});

Deno.test("options of a pickString have the reader's form: texts until 0.2, labels from 0.3 on (0.4 §9)", () => {
  const input = (options: unknown) => ({
    ...{ id: "i", type: "pickString", description: "d" },
    options,
  });
  const texts = ["a", "b"];
  const labels = [{ label: "a", value: "a" }, { label: "b", value: "b" }];
  const optionsFor = (reader: typeof OLD, options: unknown) => {
    const answer = configOf({}, [input(options), { type: "command" }]);
    const { inputs } = Object(
      translateAnswer("client:get_config", answer, newServerNames(), reader),
    );
    assertEquals(inputs[1], { type: "command" });
    return inputs[0].options;
  };
  assertEquals(optionsFor(NEW, texts), labels);
  assertEquals(optionsFor(NEW, labels), labels);
  assertEquals(optionsFor(OLD, [{ label: "A", value: "a" }, "b"]), texts);
  assertEquals(optionsFor(OLD, "odd"), "odd");
});

Deno.test("mcp_server in prompts, notices and errors follows the names that were given", () => {
  const names = newServerNames();
  const config = configOf({ "my files": server("my files") });
  translateAnswer("client:get_config", config, names, NEW);
  const prompts = { prompts: [{ name: "p", mcp_server: "my files" }, 7] };
  assertEquals(translateAnswer("client:get_prompts", prompts, names, NEW), {
    prompts: [{ name: "p", mcp_server: "my_files" }, 7],
  });
  const notice = { computer: "pc", mcp_server: "my files", uri: "u:" };
  assertEquals(translateNotice(notice, names), {
    ...notice,
    mcp_server: "my_files",
  });
  const error = { code: 404, message: "x", mcp_server: "my files" };
  for (const event of ["client:get_tools", "client:get_resources"] as const) {
    assertEquals(translateAnswer(event, error, names, NEW), {
      ...error,
      mcp_server: "my_files",
    });
  }
});

Deno.test("translateAnswer() passes on unchanged what is no answer, and keeps a hostile list cheap", () => {
  for (const odd of [null, 7, "x", [], {}, { tools: 7 }, { servers: [] }]) {
    for (const event of ["client:get_tools", "client:get_config"] as const) {
      for (const reader of [OLD, NEW]) {
        assertEquals(
          translateAnswer(event, odd, newServerNames(), reader),
          odd,
        );
      }
    }
  }
  const names = newServerNames();
  const many = Array.from({ length: 100_000 }, (_, n) => ({
    // Nothing is left of any of these names: all of them clash.
    meta: {
      a2c_mcp_server: String.fromCodePoint(0x20000 + n % 5000).repeat(
        1 + n % 20,
      ),
    },
  }));
  const { tools } = Object(
    translateAnswer("client:get_tools", { tools: many }, names, NEW),
  );
  assertEquals(
    new Set(tools.map((tool: { bundle_id: string }) => tool.bundle_id)).size,
    5000,
  );
  assertEquals(names.own.size, 0, "more than a thousand are not remembered");
  const poisoned = JSON.parse('{"servers":{"__proto__":{"name":"n"}}}');
  const answer = translateAnswer("client:get_config", poisoned, names, NEW);
  assertEquals(keysOf(answer), [["proto", "n", "proto"]]);
});
