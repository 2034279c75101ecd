import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { describePlace, readArguments } from "../../../agent/cli/call.ts";
import { splitPair } from "../../../agent/cli/command.ts";
import { parameterRows } from "../../../agent/cli/look.ts";
import {
  agentEventOf,
  type AgentEvents,
  followDesktop,
} from "../../../agent/events.ts";
import {
  catalogueStep,
  offering,
  onlyOffering,
  suggestTool,
  ToolCatalogue,
  ToolLookupError,
} from "../../../agent/tools.ts";
import { Emitter } from "../../../client/emitter.ts";
import { ConnectionError } from "../../../client/errors.ts";
import {
  ErrorCode,
  type Notification,
  NOTIFICATIONS,
  ownToolName,
  ProtocolError,
  type SMCPTool,
} from "../../../protocol/mod.ts";
import {
  MCP_SERVER_KEY,
  nameToCall,
  toolsMeant,
} from "../../../protocol/payloads/tools.ts";

Deno.test("catalogueStep() maps each notification to a step", () => {
  const computer = { computer: "pc" };
  const agent = { agent: "a" };
  const office = { office_id: "north" };
  const rows: [event: string, payload: object, step?: object][] = [
    ["enter_office", { ...office, ...computer }, { fetch: "pc" }],
    ["enter_office", { ...office, ...agent }],
    ["leave_office", { ...office, ...computer }, { forget: "pc" }],
    ["leave_office", { ...office, ...agent }],
    ["update_tool_list", computer, { fetch: "pc" }],
    ["update_config", computer, { fetch: "pc" }],
    ["update_desktop", computer],
    ["tool_call_cancel", { ...agent, req_id: "1" }],
  ];
  for (const [event, payload, step] of rows) {
    const notification = Object({ event: `notify:${event}`, payload });
    assertEquals<unknown>(catalogueStep(notification), step, event);
  }
});

const tool = (name: string, bundle_id?: string): SMCPTool => ({
  name,
  description: "",
  params_schema: {},
  return_schema: null,
  ...(bundle_id !== undefined && { bundle_id }),
});

const lost = new ConnectionError("lost", "The connection was lost");
const gone = new ProtocolError(ErrorCode.NOT_FOUND, "gone");
const busy = new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, "Too many events");

/** A catalogue whose last fetch is answered, or fails, when the test says so. */
function setup() {
  const fetches: PromiseWithResolvers<SMCPTool[]>[] = [];
  const changes: [string, string[] | undefined][] = [];
  const failures: string[] = [];
  const office = { computers: [] as string[] };
  const catalogue = new ToolCatalogue({
    list: () => Promise.resolve(office.computers),
    fetch: () => {
      fetches.push(Promise.withResolvers());
      return fetches.at(-1)!.promise.then((tools) => ({
        tools,
        ...(tools[0]?.name === "some" && { problems: ["others are left out"] }),
      }));
    },
    changed: (computer, tools) =>
      changes.push([computer, tools?.map(({ name }) => name)]),
    failed: (computer) => failures.push(computer),
  });
  const answer = (name: string) => fetches.at(-1)?.resolve([tool(name)]);
  return {
    catalogue,
    changes,
    failures,
    office,
    answer,
    fail: (error: unknown) => fetches.at(-1)?.reject(error),
    count: () => fetches.length,
    known: () => [...catalogue.byComputer.keys()],
    async fetched(count: number) {
      while (fetches.length !== count) await Promise.resolve();
    },
    async knowing(computer: string, name: string) {
      catalogue.fetch(computer);
      answer(name);
      await catalogue.settled();
    },
  };
}

Deno.test("ToolCatalogue keeps why tools are missing until they are fetched without, or their Computer leaves", async () => {
  const { catalogue, knowing } = setup();
  const known = () => [...catalogue.problems];
  await knowing("pc", "some");
  assertEquals(known(), [["pc", ["others are left out"]]]);
  await knowing("pc", "all");
  assertEquals(known(), []);
  await knowing("pc", "some");
  catalogue.forget("pc");
  assertEquals(known(), []);
});

Deno.test("ToolCatalogue fetches once more after a change during a fetch, also one that fails", async () => {
  const { catalogue, count, fetched, answer, fail, changes } = setup();
  for (let i = 0; i < 3; i++) catalogue.fetch("pc");
  assertEquals(count(), 1);
  answer("old");
  await fetched(2);
  answer("new");
  await catalogue.settled();
  assertEquals([count(), changes], [2, [["pc", ["old"]], ["pc", ["new"]]]]);

  catalogue.fetch("pc");
  catalogue.fetch("pc");
  fail(gone);
  await fetched(4);
  answer("back");
  await catalogue.settled();
  assertEquals(changes.at(-1), ["pc", ["back"]]);
});

Deno.test("ToolCatalogue drops the answer of a Computer that left during the fetch", async () => {
  const { catalogue, answer, changes, known } = setup();
  catalogue.fetch("pc");
  catalogue.forget("pc");
  answer("late");
  await catalogue.settled();
  assertEquals([known(), changes], [[], []]);
});

Deno.test("ToolCatalogue keeps known tools when a fetch fails, and forgets a Computer that left", async () => {
  const { catalogue, knowing, fail, failures, known } = setup();
  await knowing("pc", "echo");
  catalogue.fetch("pc");
  fail(new ProtocolError(ErrorCode.TIMEOUT, "slow"));
  await catalogue.settled();
  assertEquals([failures, known()], [["pc"], ["pc"]]);
  catalogue.fetch("pc");
  fail(gone);
  await catalogue.settled();
  assertEquals(known(), []);
});

Deno.test("ToolCatalogue.refresh() forgets Computers that left and fetches the others", async () => {
  const { catalogue, knowing, answer, changes, office, fetched } = setup();
  await knowing("gone", "a");
  office.computers = ["pc"];
  catalogue.refresh();
  await fetched(2);
  answer("b");
  await catalogue.settled();
  assertEquals(changes.slice(1), [["gone", undefined], ["pc", ["b"]]]);
});

Deno.test("ToolCatalogue.refresh() keeps a Computer that entered during the listing", async () => {
  const { catalogue, knowing, answer, changes } = setup();
  await knowing("pc", "a");
  catalogue.refresh(); // lists nobody: before it came back
  catalogue.fetch("pc");
  for (let i = 0; i < 50; i++) await Promise.resolve(); // lets the list arrive
  answer("b");
  await catalogue.settled();
  assertEquals(changes, [["pc", ["a"]], ["pc", ["b"]]]);
});

Deno.test("ToolCatalogue fetches a few at a time, and retries after a 429", async () => {
  const many = Array.from({ length: 30 }, (_, i) => `pc-${i}`);
  const failures: string[] = [];
  let requests = 0;
  let running = 0;
  let most = 0;
  const catalogue = new ToolCatalogue({
    list: () => Promise.resolve(many),
    fetch: async () => {
      const isFirst = requests++ === 0;
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      if (isFirst) throw busy;
      return { tools: [] };
    },
    changed: () => {},
    failed: (computer) => failures.push(computer),
  });
  catalogue.refresh();
  await catalogue.settled();
  assertEquals(
    [catalogue.byComputer.size, most, requests, failures],
    [30, 8, 31, []],
  );
});

Deno.test("ToolCatalogue.refresh() lists again after a 429 and after silence, not after another failure", async () => {
  const silent = new ConnectionError("timeout", "No answer");
  for (
    const [error, known] of [
      [busy, ["pc"]],
      [silent, ["pc"]],
      [gone, []],
      [lost, []],
      [new Error("Too many"), []],
    ] as const
  ) {
    let lists = 0;
    const catalogue = new ToolCatalogue({
      list: () =>
        lists++ === 0 ? Promise.reject(error) : Promise.resolve(["pc"]),
      fetch: () => Promise.resolve({ tools: [] }),
      changed: () => {},
      failed: () => {},
    });
    catalogue.refresh();
    await catalogue.settled();
    assertEquals<unknown>([...catalogue.byComputer.keys()], known, `${error}`);
    assertEquals(lists, 1 + known.length);
  }
});

Deno.test("ToolCatalogue.clear() drops waiting fetches", async () => {
  const { catalogue, count, fetched, office, fail } = setup();
  office.computers = Array.from({ length: 10 }, (_, i) => `pc-${i}`);
  catalogue.refresh();
  await fetched(8);
  fail(busy);
  await fetched(9);
  catalogue.clear();
  await catalogue.settled();
  assertEquals(count(), 9);
  // A running timer would be reported as a leak.
});

const COMPUTERS = {
  laptop: [
    tool("files__list", "files"),
    tool("files__read", "files"),
    tool("docs__read", "docs"),
  ],
  // An own name is the whole one of another tool; a name that only looks like one with an id.
  odd: [tool("c__a__b", "c"), tool("a__b", "a"), tool("x__y", "z")],
  old: [tool("list"), tool("files__write")],
};

const of = (...computers: (keyof typeof COMPUTERS)[]) =>
  new Map(computers.map((name) => [name, COMPUTERS[name]]));

Deno.test("protocol §13: a tool is found by its whole name, or by its own one where that is unique", () => {
  const rows: [keyof typeof COMPUTERS, name: string, found: string][] = [
    ["laptop", "files__list", "files__list"],
    ["laptop", "list", "files__list"],
    ["laptop", "docs__read", "docs__read"],
    ["odd", "a__b", "a__b"],
    ["odd", "b", "a__b"],
    ["odd", "c__a__b", "c__a__b"],
    ["odd", "x__y", "x__y"],
    ["old", "files__write", "files__write"],
  ];
  for (const [computer, name, found] of rows) {
    assertEquals(onlyOffering(of(computer), name, "home").tool.name, found);
  }
  assertEquals(offering(of("odd"), "y"), []);
  assertEquals(offering(of("old"), "write"), []);
  const own: [tool: SMCPTool, own: string][] = [
    [tool("a__b__c", "a"), "b__c"],
    [tool("a__b", "b"), "a__b"],
    [tool("a__", "a"), "a__"],
    [tool("a__b"), "a__b"],
  ];
  for (const [tool, name] of own) assertEquals(ownToolName(tool), name);
});

Deno.test("a tool is found by its name of 0.3 and later where it has that of earlier versions, and the other way round", () => {
  const earlier = { ...tool("read"), meta: { [MCP_SERVER_KEY]: "files" } };
  const later = tool("files__read", "files");
  for (const listed of [earlier, later]) {
    const tools = new Map([["pc", [listed]]]);
    for (const name of ["read", "files__read"]) {
      assertEquals(onlyOffering(tools, name, "home").tool, listed);
    }
    assertEquals(offering(tools, "docs__read"), []);
    assertEquals(offering(tools, "files__files__read"), []);
  }
  const spaced = { ...tool("read"), meta: { [MCP_SERVER_KEY]: "my files" } };
  const translated = tool("read", "my_files"); // as a Server gives it to Agents of 0.3 and later
  for (const listed of [spaced, translated]) {
    assertEquals(toolsMeant([listed], "my_files__read"), [listed]);
  }
  assertEquals(toolsMeant([tool("read")], "undefined__read"), []);
});

Deno.test("nameToCall() is the name of the one tool that is meant, else the name as it is", () => {
  const { laptop } = COMPUTERS;
  const rows = [
    ["list", "files__list"],
    ["docs__read", "docs__read"],
    ["read", "read"],
    ["raed", "raed"],
  ] as const;
  for (const [name, called] of rows) {
    assertEquals(nameToCall(laptop, name), called, name);
  }
});

Deno.test("nameToCall() sends no call for one MCP server to another, which has a tool of that whole name", () => {
  const foreign = tool("other__files__read", "other");
  assertEquals(nameToCall([foreign], "files__read"), "files__read");
  const plain = { ...tool("files__read"), meta: { [MCP_SERVER_KEY]: "other" } };
  assertEquals(nameToCall([plain], "other__files__read"), "files__read");
});

Deno.test("a misspelt tool is answered with the one that is meant, by its own name or the whole one", () => {
  const rows: [name: string, suggestion: string][] = [
    ["raed", '; did you mean "read"?'],
    ["doc__read", '; did you mean "docs__read"?'],
    ["LIST", '; did you mean "list"?'],
    ["delete", ""],
  ];
  for (const [name, suggestion] of rows) {
    assertEquals(suggestTool(of("laptop"), name), suggestion, name);
  }
  assertEquals(suggestTool(new Map(), "read"), "");
});

Deno.test("protocol §13: an ambiguous name is an error that lists the whole ones", () => {
  const rows = [
    [
      ...[of("laptop"), "read", ["laptop"]],
      'several MCP servers offer the tool "read"; give its whole name: files__read or docs__read',
    ],
    [
      ...[of("laptop", "old"), "list", ["laptop", "old"]],
      "(laptop, old); choose one with the option `computer`",
    ],
    [
      ...[of("laptop").set("old", [tool("read")]), "read", ["laptop", "old"]],
      "(laptop: files__read or docs__read, old); choose one",
    ],
  ] as [Map<string, SMCPTool[]>, string, string[], string][];
  for (const [tools, name, computers, says] of rows) {
    const lookup = () => onlyOffering(tools, name, "home");
    const error = assertThrows(lookup, ToolLookupError, says);
    assertEquals([error.code, error.computers], ["ambiguous", computers]);
  }
});

Deno.test("the Agent's event of a notification is its name on the wire without notify:, in camelCase", () => {
  const names = Object.keys(NOTIFICATIONS) as Notification[];
  assertEquals(names.map((name) => agentEventOf(name)), [
    ...["enterOffice", "leaveOffice", "updateConfig", "updateToolList"],
    ...["updateDesktop", "updateFinder", "updateSkills", "updateResources"],
    ...["toolCallCancel", "toolCallProgress"],
  ]);
});

/** Follows a desktop whose fetches return the given results in turn. */
function follow(...answers: (string[] | Error)[]) {
  const events = new Emitter<AgentEvents>(() => {});
  const failed = Promise.withResolvers<void>();
  const desktop = followDesktop("pc", {
    on: (...args) => events.on(...args),
    fetch: () => {
      const answer = answers.shift();
      if (!(answer instanceof Error)) return Promise.resolve(answer ?? []);
      failed.resolve();
      return Promise.reject(answer);
    },
  }, {});
  return { events, desktop, failed: failed.promise };
}

Deno.test("followDesktop() continues after a connection loss during a fetch (protocol §9)", async () => {
  const { events, desktop, failed } = follow(["one"], lost, ["two"]);
  assertEquals((await desktop.next()).value, ["one"]);
  const next = desktop.next();
  events.emit("updateDesktop", { computer: "pc" });
  await failed;
  events.emit("disconnected", { reason: "gone", reconnecting: true });
  events.emit("joined", { office: "north", rejoined: true });
  assertEquals((await next).value, ["two"]);
  await desktop.return();
});

Deno.test("followDesktop() ends with the connection at any point, and does not start without one", async () => {
  const { events, desktop } = follow(["one"], lost);
  assertEquals((await desktop.next()).value, ["one"]);
  const next = desktop.next();
  events.emit("updateDesktop", { computer: "pc" });
  events.emit("disconnected", { reason: "closed", reconnecting: false });
  await assertRejects(() => next, ConnectionError, "closed");
  await assertRejects(
    () => follow(lost).desktop.next(),
    ConnectionError,
    "lost",
  );
});

Deno.test("followDesktop() waits while its Computer or the connection is away, and ends at any other failure", async () => {
  const rows: [Error, mayComeBack: boolean][] = [
    [lost, true],
    [new ConnectionError("offline", "Not connected"), true],
    [gone, true],
    [new ConnectionError("timeout", "No answer"), false],
    [new ProtocolError(ErrorCode.FORBIDDEN, "not for you"), false],
    [new Error("another"), false],
  ];
  for (const [error, mayComeBack] of rows) {
    const { events, desktop, failed } = follow(["one"], error, ["two"]);
    await desktop.next();
    const next = desktop.next();
    events.emit("updateDesktop", { computer: "other" });
    events.emit("updateDesktop", { computer: "pc" });
    if (mayComeBack) {
      await failed;
      events.emit("enterOffice", { office_id: "north", computer: "pc" });
      assertEquals((await next).value, ["two"], error.message);
    } else {
      const thrown = await assertRejects(() => next);
      assertEquals(thrown, error);
    }
    await desktop.return();
    const early = await assertRejects(() => follow(error).desktop.next());
    assertEquals(early, error);
  }
});

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", description: "Where. And why." },
    count: { type: "integer" },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    filter: { type: "object" },
    tags: { type: "array", items: { type: "string" } },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    either: { type: ["string", "number"] },
    nothing: { type: ["string", "null"] },
    size: { $ref: "#/$defs/Size" },
    loop: { $ref: "#/$defs/Loop" },
    level: { enum: [1, 2] },
    fixed: { const: true },
  },
  $defs: { Size: { type: "integer" }, Loop: { $ref: "#/$defs/Loop" } },
};

Deno.test("readArguments() reads each argument by the schema, and as text for an unlisted tool", () => {
  const rows: [name: string, text: string, value: unknown][] = [
    ["path", "notes.txt", "notes.txt"],
    ["path", "42", "42"],
    ["path", "a=b", "a=b"],
    ["path", "", ""],
    ["count", "42", 42],
    ["ratio", "0.5", 0.5],
    ["ratio", "2", 2],
    ["deep", "true", true],
    ["filter", '{"a":[1]}', { a: [1] }],
    ["tags", '["x"]', ["x"]],
    ["maybe", "null", null],
    ["maybe", "3", 3],
    ["either", "3", "3"],
    ["nothing", "null", null],
    ["nothing", "text", "text"],
    ["size", "7", 7],
    ["loop", "any", "any"],
    ["level", "2", 2],
    ["fixed", "true", true],
    ["unknown", "12", "12"],
    ["toString", "12", "12"],
  ];
  for (const [name, text, value] of rows) {
    const read = readArguments([[name, text]], SCHEMA);
    assertEquals<unknown>(read, { params: { [name]: value }, problems: [] });
    assertEquals(readArguments([[name, text]]).params, { [name]: text });
  }
});

Deno.test("readArguments() describes the argument that was expected, and refuses a duplicate", () => {
  const rows: [name: string, text: string, expected: string][] = [
    ["count", "many", "a whole number"],
    ["count", "1.5", "a whole number"],
    ["deep", "yes", "true or false"],
    ["tags", "x", "a JSON list"],
    ["filter", "[]", "a JSON object"],
  ];
  for (const [name, text, expected] of rows) {
    assertEquals<unknown>(readArguments([[name, text]], SCHEMA), {
      params: {},
      problems: [`argument "${name}" is "${text}", expected ${expected}`],
    });
  }
  const twice = readArguments([["path", "a"], ["path", "b"]], SCHEMA);
  assertEquals(twice.problems.length, 1);
});

Deno.test("parameterRows() returns name, type and description of each parameter", () => {
  const { path, tags, nothing } = SCHEMA.properties;
  const mode = { enum: ["r", "w"] };
  const properties = { path, tags, nothing, mode, any: {}, odd: true };
  assertEquals(parameterRows({ properties, required: ["path"] }), [
    ["path", "string, required", "Where."],
    ["tags", "array of string", ""],
    ["nothing", "string | null", ""],
    ["mode", '"r" | "w"', ""],
    ["any", "any", ""],
    ["odd", "any", ""],
  ]);
  for (const none of [{}, { properties: [] }]) {
    assertEquals(parameterRows(none), []);
  }
});

Deno.test("splitPair() splits at the first '=' and requires a name", () => {
  const pairs = ["a=b=c", "a=", "=b", "a"].map(splitPair);
  assertEquals(pairs, [["a", "b=c"], ["a", ""], undefined, undefined]);
});

Deno.test("describePlace() finds the places in the errors of V8's JSON parser", () => {
  const rows: [json: string, place: string][] = [
    ['{"a": ', ": it ends too early"],
    ['{"a": 1', ": see line 1, column 8"],
    ["", ": it ends too early"],
    ["{path: .}", ": see line 1, column 2"],
    ['{"a": 1,\n "b" 2}', ": see line 2, column 6"],
    ['{"a": 1} {', ": see line 1, column 10"],
  ];
  for (const [json, place] of rows) {
    const error = assertThrows(() => JSON.parse(json), SyntaxError);
    assertEquals(describePlace(json, error), place, `${json}: ${error}`);
  }
  assertEquals(describePlace("", new Error("something else")), "");
});
