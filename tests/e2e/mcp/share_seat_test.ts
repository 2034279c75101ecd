import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ConnectionError } from "../../../agent/mod.ts";
import { runMain, startMain } from "../../support/command.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS, connectV1 } from "../../support/mcp/clients.ts";
import {
  agentAt,
  GATEWAY_KEYS,
  type GatewaySetup,
  pipeCommand,
  startGateway,
  withKey,
} from "../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";
import { OFFICE } from "../../support/office.ts";
import { holdTimers, keepTimers } from "../../support/timers.ts";

const { ann, bob } = GATEWAY_KEYS;

/** Leads `/team/` to one Server, and all else to another. */
function startPrefix(team: string, other: string) {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => {
      const { pathname, search } = new URL(request.url);
      const url = pathname.startsWith("/team/")
        ? new URL(pathname.slice("/team".length), team)
        : new URL(pathname, other);
      url.search = search;
      return fetch(url, request);
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** How long a seat is kept for MCP clients without requests. */
const SEAT_IDLE_MS = 60_000;

/** An office whose Computer has the fixture, and how a command reaches it. */
async function start(setup: GatewaySetup = {}) {
  const served = await startGateway({
    servers: { fix: fixture() },
    server: { protocol: "all" },
    ...setup,
  });
  const at = ["--url", served.office.url, "--office", OFFICE];
  return {
    ...served,
    run: (...args: string[]) => runMain("agent", [...args, ...at]),
    begin: (...args: string[]) => startMain("agent", [...args, ...at]),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: smcp-agent call and tools run while a call over MCP is in flight`, async () => {
    await using served = await start();
    await using client = await connect(served);
    const stop = new AbortController();
    const slow = client.call("pc__slow", {}, { signal: stop.signal })
      .catch(String);
    await client.call("pc__slow_began");
    const called = await served.run("call", "echo", "--arg", "text=hi");
    assertEquals([called.code, called.stdout], [0, "hi\n"], called.stderr);
    const listed = await served.run("tools");
    assertStringIncludes(listed.stdout, "    fix__slow_began ", listed.stderr);
    stop.abort();
    await slow;
  });

  Deno.test(`${kind}: an MCP client uses the office while smcp-agent call runs, and Ctrl-C cancels that call at the MCP server`, async () => {
    await using served = await start();
    await using command = served.begin("call", "slow");
    await command.line(/^calling slow on pc/);
    await using client = await connect(served);
    assert((await client.tools()).length > 0);
    await client.call("pc__slow_began");
    command.signal("SIGINT");
    assertEquals((await command.status).code, 1);
    assertEquals(command.errors.at(-1), "error: cancelled");
    await client.call("pc__slow_aborted");
  });
}

Deno.test("smcp-agent prints the same whether it shares the seat or takes it", async (t) => {
  await using served = await start();
  for (
    const args of [
      ["tools"],
      ["tools", "--verbose", "--computer", "pc"],
      ["tools", "--json"],
      ["tools", "--computer", "nobody"],
      ["call", "echo", "--arg", "text=hi", "--json"],
      ["call", "fix__echo", "--params", '{"text": "hi"}'],
      ["call", "big", "--json"],
      ["call", "meta", "--json"],
      ["call", "fail"],
      ["call", "throw"],
      ["call", "ecko", "--arg", "text=hi"],
      ["call", "ecko", "--computer", "pc"],
      ["call", "slow", "--timeout", "1"],
      ["config", "--json"],
      ["desktop"],
      ["resources"],
      ["prompts", "--json"],
      ["skills"],
      ["docs"],
    ]
  ) {
    await t.step(args.join(" "), async () => {
      const shared = await served.run(...args);
      const own = await served.run(...args, "--protocol", "0.4");
      assertEquals(shared, own);
    });
  }
});

Deno.test("a command shows that a tool waits for a person", async () => {
  const asked = Promise.withResolvers<Record<string, unknown>>();
  const done = Promise.withResolvers<void>();
  await using served = await startGateway({ server: { protocol: "all" } });
  const other = await served.office.addScriptedComputer(
    "desk",
    async (event, payload) => {
      const { req_id } = Object(payload);
      const description = "asks";
      const params_schema = { type: "object" };
      const tool = { name: "ask", description, params_schema };
      if (event === "client:get_tools") {
        return { tools: [{ ...tool, return_schema: null }], req_id };
      }
      asked.resolve(Object(payload));
      await done.promise;
      return { content: [{ type: "text", text: "yes" }] };
    },
  );
  const at = ["--url", served.office.url, "--office", OFFICE];
  await using command = startMain("agent", ["call", "ask", ...at]);
  const { agent, req_id } = await asked.promise;
  assertEquals(agent, "mcp"); // that of the shared seat
  const progress = { agent, req_id, computer: "desk", progress: 1 };
  other.send("server:tool_call_progress", {
    ...progress,
    waiting: "confirmation",
    message: "waits for somebody to confirm it",
  });
  await command.line(/waits for somebody/);
  done.resolve();
  assertEquals((await command.status).code, 0);
  assertEquals(command.out, ["yes"]);
});

Deno.test("a command shares the seat with MCP clients of other credentials, and keeps nobody from it once it has ended", async () => {
  using _ = holdTimers(SEAT_IDLE_MS);
  await using served = await start({ keys: true, servers: undefined as never });
  const as = (key: string) => ["--api-key", key];
  const first = await served.run("tools", ...as(bob));
  assertEquals(first.code, 0, first.stderr);
  const { agent } = served.office; // ann's
  await agent.join(OFFICE);
  await agent.leave();
  await using client = await CLIENTS["v2, 2026"]!({
    url: served.url,
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set("x-api-key", ann);
      return fetch(url, { ...init, headers });
    },
  });
  await client.tools();
  const second = await served.run("tools", ...as(bob));
  assertEquals(second, first);
  await agent.join(OFFICE); // of the client's credentials
});

Deno.test("a command does not prolong the time for which MCP clients keep the seat", async () => {
  using timers = keepTimers(SEAT_IDLE_MS);
  await using served = await start({ keys: true, servers: undefined as never });
  await post(served.url, withKey(bob, modernRequest("tools/list")));
  const { length } = timers.armed;
  const { code, stderr } = await served.run("tools", "--api-key", bob);
  assertEquals([code, timers.armed.length], [0, length], stderr);
  await using command = served.begin("call", "slow", "--api-key", bob);
  await command.line(/^calling slow on pc/);
  await served.holds(1);
  timers.fire();
  served.release();
  assertEquals((await command.status).code, 0, command.errors.join());
  await served.office.agent.join(OFFICE); // ann's, who is none of them
});

Deno.test("an Agent is refused while a command has the seat, and told so", async () => {
  await using served = await start();
  await using command = served.begin("call", "slow");
  await command.line(/^calling slow on pc/);
  const error = await assertRejects(
    () => served.office.agent.join(OFFICE),
    ConnectionError,
  );
  assertEquals(
    error.message,
    'Room already has an agent: "mcp" has it for a command, until that has ended',
  );
});

Deno.test("a command that cannot share the seat says what it says without MCP", async (t) => {
  await using served = await start({ keys: true, servers: undefined as never });
  for (
    const [name, flags, message] of [
      ["no credentials", [], "Authentication failed"],
      ["unknown key", ["--api-key", "unknown-0123456789"], "x"],
      [
        "a Computer's key",
        ["--api-key", GATEWAY_KEYS.computer],
        "Not allowed to join as agent",
      ],
    ] as const
  ) {
    await t.step(name, async () => {
      const shared = await served.run("tools", ...flags);
      const own = await served.run("tools", ...flags, "--protocol", "0.4");
      assertEquals(shared, own);
      assertEquals(shared.code, 1);
      if (name !== "unknown key") assertStringIncludes(shared.stderr, message);
    });
  }
  await t.step("another Agent", async () => {
    await served.office.agent.join(OFFICE);
    const { code, stderr } = await served.run("tools", "--api-key", ann);
    assertEquals(code, 1);
    assertStringIncludes(stderr, '"planner" has it until it leaves');
  });
});

Deno.test("a command takes the seat where MCP clients see a part of the office", async () => {
  await using served = await start({ gateway: { exclude: ["pc__slow"] } });
  const { stdout } = await served.run("tools");
  assertStringIncludes(stdout, "    fix__slow ");
  const { stdout: members } = await served.run("members");
  assert(/^agent +agent /m.test(members), members);
});

Deno.test("a shared seat sends no events that its Agent would have to answer for", async () => {
  await using served = await start();
  for (const event of ["server:join_office", "client:watch_resource", "x"]) {
    const { body } = await post(
      served.url,
      modernRequest("a2c-smcp/request", { event, payload: {} }),
    );
    assertStringIncludes(
      body,
      `Cannot send ${JSON.stringify(event)} by a shared seat`.replaceAll(
        '"',
        '\\"',
      ),
    );
  }
  await using agent = await agentAt(served.office.url);
  await agent.join(OFFICE); // nobody has it any more
});

Deno.test("a request by a shared seat has the bounds of its event", async (t) => {
  await using served = await start({ servers: undefined as never });
  const send = async (event: string, payload: Record<string, unknown>) => {
    const request = { event, payload: { computer: "pc", ...payload } };
    const asked = modernRequest("a2c-smcp/request", request);
    const { body } = await post(served.url, asked);
    const [, message = "{}"] = /^data: (.*)$/m.exec(body) ?? [];
    return JSON.parse(message).result.answer;
  };
  await t.step("a large call runs", async () => {
    const params = { text: "hi", list: Array(90_000).fill(0) };
    const call = { tool_name: "echo", params, timeout: 60 };
    const answer = await send("client:tool_call", call);
    assertEquals(answer.content, [{ type: "text", text: "hi" }]);
  });
  const members = Array.from({ length: 256 }, (_, i) => [`m${i}`, 0]);
  for (
    const [payload, limit, max] of [
      [{ list: Array(1_000).fill(0) }, "values", 1_000],
      [{ text: "é".repeat(40_000) }, "bytes", 65_536],
      [Object.fromEntries(members), "members", 256],
    ] as const
  ) {
    await t.step(`${limit} of a question`, async () => {
      const { code, ...refused } = await send("client:get_config", payload);
      assertEquals([code, refused.limit, refused.max], [400, limit, max]);
    });
  }
});

Deno.test("a command that shares a seat waits where the Server limits its requests", async () => {
  await using served = await start({
    server: { protocol: "all", limits: { eventsPerSecond: 3 } },
    servers: undefined as never,
  });
  const called = await served.run("call", "echo", "--arg", "text=hi");
  assertEquals([called.code, called.stdout], [0, "hi\n"], called.stderr);
});

Deno.test("behind a proxy that leads to several Servers by their paths, the Server of --path is asked", async (t) => {
  await using team = await start({ servers: undefined as never });
  await using other = await start({ servers: undefined as never });
  const tool = { name: "go", description: "", return_schema: null };
  const tools = [{ ...tool, params_schema: { type: "object" } }];
  await team.office.addScriptedComputer(
    "team-pc",
    () => ({ tools, req_id: "1" }),
  );
  await using proxy = startPrefix(team.office.url, other.office.url);
  await t.step("by commands", async () => {
    const at = ["--url", proxy.url, "--path", "/team/smcp/"];
    const args = ["members", "--office", OFFICE, ...at];
    const { stdout, stderr } = await runMain("agent", args);
    assert(/^mcp +agent /m.test(stdout), stdout + stderr);
    assertStringIncludes(stdout, "team-pc ");
  });
  await t.step("by smcp-agent mcp", async () => {
    const command = pipeCommand(proxy.url, "--path", "/team/smcp/");
    await using client = await connectV1(command);
    const names = (await client.tools()).map(({ name }) => name);
    assert(names.includes("team-pc__go"), String(names));
  });
});

Deno.test("a command takes the seat where --path is not of a Server with MCP", async () => {
  await using served = await start({ servers: undefined as never });
  const { stdout } = await served.run("members", "--path", "/socket.io/");
  assert(/^agent +agent /m.test(stdout), stdout);
});

Deno.test("commands hold the seat beside as many requests as the Server allows their principal at once", async () => {
  await using served = await start({
    server: { protocol: "all", limits: { callsPerAgent: 2 } },
    servers: undefined as never,
  });
  await using first = served.begin("call", "slow");
  await using second = served.begin("call", "slow");
  for (const command of [first, second]) {
    await command.line(/^calling slow on pc/);
  }
  await served.holds(2);
  served.release();
  for (const command of [first, second]) {
    assertEquals((await command.status).code, 0, command.errors.join());
  }
});
