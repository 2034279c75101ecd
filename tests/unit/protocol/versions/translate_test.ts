import { assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  type ClientEvent,
  GET_CONFIG_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  PROFILES,
  PUT_BLOB_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_RESOURCES_NOTIFICATION,
} from "../../../../protocol/mod.ts";
import {
  isTranslated,
  newServerNames,
  shownTo,
  translateAnswer,
  translateNotice,
  translateRequest,
  unknownTo,
} from "../../../../protocol/translate.ts";

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
        isTranslated(UPDATE_RESOURCES_NOTIFICATION, one, other),
        differs,
      );
    }
  }
  assertEquals(isTranslated(TOOL_CALL_EVENT, OLD, NEW), false);
});

Deno.test("unknownTo() is the 400 that names the Computer, its version and the event (0.4 §5)", () => {
  assertEquals(unknownTo("laptop", OLD, PUT_BLOB_EVENT).toPayload(), {
    computer: "laptop",
    code: 400,
    message: "laptop speaks A2C-SMCP 0.2, which has no client:put_blob",
  });
  assertEquals(
    unknownTo("old", PROFILES["0.1"], GET_RESOURCES_EVENT).message,
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
  assertEquals(translateAnswer(GET_TOOLS_EVENT, answer, names, NEW), {
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
    translateAnswer(GET_CONFIG_EVENT, configOf(servers), names, NEW);
    const answer = { tools: [{ name: "t" }] };
    const { tools: [tool] } = Object(
      translateAnswer(GET_TOOLS_EVENT, answer, names, NEW),
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
    GET_TOOLS_EVENT,
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
  const translate = () => translateAnswer(GET_CONFIG_EVENT, answer, names, NEW);
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
    keysOf(translateAnswer(GET_CONFIG_EVENT, turned, names, NEW))
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
    keysOf(translateAnswer(GET_CONFIG_EVENT, answer, names, OLD));
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
      translateAnswer(GET_CONFIG_EVENT, answer, newServerNames(), reader),
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
  translateAnswer(GET_CONFIG_EVENT, config, names, NEW);
  const prompts = { prompts: [{ name: "p", mcp_server: "my files" }, 7] };
  assertEquals(translateAnswer(GET_PROMPTS_EVENT, prompts, names, NEW), {
    prompts: [{ name: "p", mcp_server: "my_files" }, 7],
  });
  const notice = { computer: "pc", mcp_server: "my files", uri: "u:" };
  assertEquals(translateNotice(notice, names), {
    ...notice,
    mcp_server: "my_files",
  });
  const error = { code: 404, message: "x", mcp_server: "my files" };
  for (const event of [GET_TOOLS_EVENT, GET_RESOURCES_EVENT] as const) {
    assertEquals(translateAnswer(event, error, names, NEW), {
      ...error,
      mcp_server: "my_files",
    });
  }
});

Deno.test("translateAnswer() passes on unchanged what is no answer, and keeps a hostile list cheap", () => {
  for (const odd of [null, 7, "x", [], {}, { tools: 7 }, { servers: [] }]) {
    for (const event of [GET_TOOLS_EVENT, GET_CONFIG_EVENT] as const) {
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
    translateAnswer(GET_TOOLS_EVENT, { tools: many }, names, NEW),
  );
  assertEquals(
    new Set(tools.map((tool: { bundle_id: string }) => tool.bundle_id)).size,
    5000,
  );
  assertEquals(names.own.size, 0, "more than a thousand are not remembered");
  const poisoned = JSON.parse('{"servers":{"__proto__":{"name":"n"}}}');
  const answer = translateAnswer(GET_CONFIG_EVENT, poisoned, names, NEW);
  assertEquals(keysOf(answer), [["proto", "n", "proto"]]);
});
