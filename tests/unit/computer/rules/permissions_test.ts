import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { unpinned } from "../../../../computer/tools/asked_call.ts";
import type { Permission } from "../../../../computer/rules/permissions.ts";
import type { ConfirmRequest } from "../../../../computer/tools/confirm.ts";
import { SteadyClock } from "../../../../computer/util/steady_clock.ts";
import {
  askedPerson,
  Decisions,
  type TestCall,
} from "../../../support/approvals/decisions.ts";
import { view } from "../../../support/computer/server_view.ts";

/** Decides calls, of which a program allows the first as it is told, and refuses all others. */
function allowing(
  answer: "hour" | "always",
  options: ConstructorParameters<typeof Decisions>[0] = {},
) {
  const asked: ConfirmRequest[] = [];
  const decisions = new Decisions({
    confirm: (request) => asked.push(request) === 1 ? answer : "no",
    ...options,
  });
  const runs = async (call: TestCall = {}) =>
    (await decisions.decide(call)).kind === "run";
  return { decisions, asked, runs };
}

const FILE_RULE = {
  then: "ask" as const,
  tool: "write_file",
  file: { path: "path", content: "content", under: "/nonexistent" },
};

Deno.test("threat 6: a yes for an hour holds for the same arguments alone, 20 times in all, and ends", async () => {
  const { decisions, asked, runs } = allowing("hour");
  assert(await runs());
  assertEquals(asked[0]?.options[1], {
    id: "hour",
    text: "Yes, for an hour, 20 times",
    covers:
      'For an hour Agent "planner" may run tool "write_file" of MCP server "files" 20 times with exactly these arguments.',
  });
  const others: TestCall[] = [
    { agent: "other" },
    { agent: "planner", operator: "ann" },
    { tool: "other" },
    { params: { path: "/srv/b.txt" } },
    { params: { path: "/srv/a.txt", mode: 1 } },
    { params: {} },
  ];
  for (const other of others) assert(!await runs(other));
  for (let use = 2; use <= 20; use++) assert(await runs(), `use ${use}`);
  assertEquals(decisions.confirmations.permissions.list(), []);
  assert(!await runs());

  const again = allowing("hour");
  assert(await again.runs());
  again.decisions.now += 3_599_999;
  assert(await again.runs());
  again.decisions.now += 1;
  assert(!await again.runs());
});

Deno.test("threat 30: a permission ends where the tool's definition, the MCP server's configuration or the program behind it changes", async () => {
  const changes: TestCall[] = [
    { definition: { description: "new" } },
    { definition: { inputSchema: { type: "object", properties: { a: {} } } } },
    { definition: { annotations: { readOnlyHint: true } } },
    { config: { server_parameters: { command: "y" } } },
    { config: { server_parameters: { command: "x", args: ["z"] } } },
    { introduction: '["files","2"]' },
  ];
  for (const change of changes) {
    const { decisions, runs } = allowing("always");
    assert(await runs());
    assert(await runs());
    assertEquals(decisions.confirmations.permissions.list().length, 1);
    assert(!await runs(change), JSON.stringify(change));
    assertEquals(decisions.confirmations.permissions.list(), []);
    assert(!await runs(), "it does not come back");
  }
});

Deno.test("always allows an Agent a tool with any arguments; no permission overrides a deny, or a rule that asks every time", async () => {
  const { decisions, asked, runs } = allowing("always");
  assert(await runs());
  assertStringIncludes(
    asked[0]?.options[2]?.covers ?? "",
    'Agent "planner" may run tool "write_file" of MCP server "files" any number of times with any arguments, until the tool or its MCP server changes, or the Computer ends.',
  );
  assert(await runs({ params: { path: "/etc/passwd" } }));
  decisions.confirmations.configure([{ then: "deny", reason: "not today" }]);
  assertEquals(
    await decisions.outcome(),
    'The call of tool "write_file" of MCP server "files" is denied by the Computer\'s configuration (rules.0): "not today"; do not repeat it',
  );
  decisions.confirmations.configure([{ then: "ask", every: true }]);
  assert(!await runs());
  assertEquals(asked[1]?.options.map(({ id }) => id), ["once", "mute", "no"]);
  assertEquals(asked[1]?.every, true);
  decisions.confirmations.configure([]);
  assert(await runs());
});

Deno.test("with a rule that names the arguments of a file, a yes for an hour holds for any content of that file", async () => {
  const { asked, runs } = allowing("hour", { rules: [FILE_RULE] });
  const file = (path: string, content: string, more = {}): TestCall => ({
    params: { path, content, ...more },
  });
  assert(await runs(file("/srv/a", "one")));
  assertStringIncludes(
    asked[0]?.options[1]?.covers ?? "",
    'with these arguments and any "content".',
  );
  assert(await runs(file("/srv/a", "two")));
  assert(!await runs(file("/srv/b", "one")));
  assert(!await runs(file("/srv/a", "one", { mode: 1 })));
  assert(!await runs({ params: { path: "/srv/a" } }));
});

Deno.test("only this call can be allowed where an argument is a command, or the tool says that it destroys", async () => {
  const rows: [call: TestCall, isOnly: boolean][] = [
    [{}, false],
    [{ params: { command: "ls" } }, true],
    [{ params: { SQL: "" } }, true],
    [{ params: { commands: "ls" } }, false],
    [
      {
        definition: {
          inputSchema: { type: "object", properties: { script: {} } },
        },
      },
      true,
    ],
    [{ definition: { annotations: { destructiveHint: true } } }, true],
    // Annotations only ever make it stricter.
    [
      {
        params: { code: "1" },
        definition: {
          annotations: { readOnlyHint: true, destructiveHint: false },
        },
      },
      true,
    ],
  ];
  for (const [call, isOnly] of rows) {
    const { asked, runs } = allowing("always");
    assert(await runs(call), "a yes to more than is offered is one to this");
    const ids = asked[0]?.options.map(({ id }) => id) ?? [];
    assertEquals(ids.includes("hour") || ids.includes("always"), !isOnly);
    assertEquals(await runs(call), !isOnly, JSON.stringify(call));
  }
});

Deno.test("a permission ends the open questions that it covers, and no others", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const calls: TestCall[] = [
    {},
    {},
    { params: { path: "/srv/b.txt" } },
    { agent: "other" },
  ];
  const decided = calls.map((call) => decisions.decide(call));
  questions[0]?.answer("hour");
  assertEquals((await decided[1])?.kind, "run");
  assertEquals(questions.map(({ signal }) => signal.aborted), [
    false,
    true,
    false,
    false,
  ]);
  const [permission] = decisions.confirmations.permissions.list();
  assertEquals(permission?.usesLeft, 18);
  for (const question of questions) question.answer("no");
  await Promise.all(decided);
});

Deno.test("permissions are written to a store after each change, and read before the first question; one that is removed holds no more", async () => {
  let stored: readonly Permission[] = [];
  const store = {
    read: () => Promise.resolve(stored),
    write: (all: readonly Permission[]) => {
      stored = all;
    },
  };
  let changes = 0;
  const changed = () => changes++;
  const first = allowing("always", { store, changed });
  assert(await first.runs());
  await Promise.resolve();
  assertEquals(stored.length, 1);
  assert(changes > 0);
  assert(!stored[0]?.covers.includes("or the Computer ends"));

  const second = allowing("always", { store, confirm: undefined });
  assert(await second.runs(), "also where nobody can be asked");
  await second.decisions.confirmations.ready();
  const { permissions } = second.decisions.confirmations;
  assertEquals(permissions.list(), stored);
  assertEquals(permissions.remove("unknown"), false);
  assertEquals(permissions.remove(stored[0]?.id ?? ""), true);
  assert(!await second.runs());
  await Promise.resolve();
  assertEquals(stored, []);

  const broken = allowing("always", {
    store: {
      read: () => Promise.reject(new Error("no disk")),
      write: () => Promise.reject(new Error("no disk")),
    },
  });
  assert(await broken.runs());
  assert(await broken.runs(), "it holds in memory");
});

Deno.test("a permission ends no open question of a call about which a rule asks every time by now", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const first = decisions.outcome({ params: { n: 1 } });
  const second = decisions.outcome({ params: { n: 2 } });
  decisions.confirmations.configure([{ then: "ask", every: true }]);
  questions[0]?.answer("always");
  assertEquals(await first, "run");
  assertEquals(questions[1]?.signal.aborted, false);
  questions[1]?.answer("no");
  assertStringIncludes(await second, "refused the call");
});

Deno.test("a permission for an hour that is read ends within an hour, whatever the clock was when it was given", async () => {
  let stored: readonly Permission[] = [];
  const store = {
    read: () => stored,
    write: (all: readonly Permission[]) => {
      stored = all;
    },
  };
  assert(await allowing("hour", { store }).runs());
  await Promise.resolve();
  const [given] = stored;
  assert(given?.untilMs !== undefined);
  // As of a machine whose clock went back by a day before the Computer was started again.
  stored = [{ ...given, untilMs: given.untilMs + 86_400_000 }];
  const { decisions, runs } = allowing("hour", {
    store,
    confirm: () => "no",
  });
  assert(await runs());
  decisions.now += 3_600_000;
  assert(!await runs());
});

Deno.test("a program that a registry may replace is named", () => {
  const rows: [command: string, args: string[], named: string | undefined][] = [
    ["npx", ["-y", "files"], "npx files"],
    ["npx", ["@org/files"], "npx @org/files"],
    ["/usr/bin/npx", ["files@latest"], "npx files@latest"],
    ["npx.cmd", ["@org/files@1.2.3"], undefined],
    ["uvx", ["files==1.0"], undefined],
    ["uvx", ["files"], "uvx files"],
    ["node", ["files"], undefined],
    ["constructor", ["files"], undefined],
  ];
  for (const [command, args, named] of rows) {
    const { config } = view("files", [], {
      server_parameters: { command, args },
    });
    assertEquals(unpinned(config), named, `${command} ${args}`);
  }
});

Deno.test("threat 14: SteadyClock goes on while either clock does, as in sleep, and never back", () => {
  let wall = 1_000;
  let monotonic = 0;
  const clock = new SteadyClock(() => wall, () => monotonic);
  const rows: [wall: number, monotonic: number, now: number][] = [
    [1_000, 0, 1_000],
    [1_010, 10, 1_010],
    [2_010, 10, 2_010], // the monotonic clock stood still in sleep
    [10, 20, 2_020], // the wall clock was set back
    [20, 30, 2_030],
    [20, 30, 2_030],
  ];
  for (const [nextWall, nextMonotonic, now] of rows) {
    wall = nextWall;
    monotonic = nextMonotonic;
    assertEquals(clock.now(), now);
  }
});

Deno.test("threat 5: SteadyClock is not the faster for being read often, so that an Agent that floods is mute as long as others", () => {
  let passed = 0;
  const clock = new SteadyClock(
    () => 1_000 + Math.floor(passed), // whole milliseconds, as Date.now()
    () => passed,
  );
  const began = clock.now();
  while (passed < 10_000) {
    passed += 0.1;
    clock.now();
  }
  const counted = clock.now() - began;
  assert(counted >= 9_999 && counted <= 10_200, String(counted));
});
