import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { SignJWT } from "jose";
import { mcpGateway } from "../../../mcp/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { apiKeys, type Authenticator, jwt } from "../../../server/mod.ts";
import { Bus } from "../../support/cluster/bus.ts";
import { captureLog } from "../../support/log_capture.ts";
import { CLIENTS, ERAS, sdkClient } from "../../support/mcp/clients.ts";
import {
  callEcho,
  GATEWAY_KEYS,
  gatewayKeys,
  type GatewaySetup,
  listTools,
  startGateway,
  withKey,
} from "../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  LIST_TOOLS,
  modernRequest,
  post,
} from "../../support/mcp/post.ts";
import { hurryTimers } from "../../support/timers.ts";
import { connectRaw, joinRaw } from "../../support/wire/raw_client.ts";

const { ann, bob } = GATEWAY_KEYS;

/** A `fetch` with a key. */
const as = (key: string): typeof fetch => (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set("x-api-key", key);
  return fetch(input, { ...init, headers });
};

/** Sends a request with `fetch`, such as one whose answer is a stream. */
const send = (
  url: string | URL,
  { headers, body }: ReturnType<typeof modernRequest>,
  init: RequestInit & { client?: Deno.HttpClient } = {},
) =>
  fetch(url, {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body,
    ...init,
  });

const LISTEN = modernRequest("subscriptions/listen", {
  notifications: { toolsListChanged: true },
});

const textOf = ({ body }: { body: string }): string =>
  JSON.parse(body).result.content[0].text;

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a Server with a gateway serves its offices, each at its own path`, async () => {
    await using served = await startGateway();
    await using client = await connect(served);
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);
    await using south = await connect({
      url: new URL("/mcp/a%2Fb c", served.url),
    });
    assertEquals(await south.tools(), []);
    assertStringIncludes(south.instructions ?? "", `the office "a/b c"`);
    await south.terminate();
    await client.terminate();
  });
}

Deno.test("an address without an office says that it is missing", async () => {
  await using gateway = await startGateway();
  const at = async (path: string) => {
    const response = await fetch(new URL(path, gateway.url));
    return [response.status, (await response.json()).message];
  };
  const missing = [404, "Not found: name the office, as in /mcp/OFFICE"];
  assertEquals(await at("/mcp"), missing);
  assertEquals(await at("/mcp/"), missing);
  assertEquals(await at("/mcpp"), [404, "Not found"]);
});

Deno.test("the seat is given up when nobody uses it, and taken again; sessions and names stay", async () => {
  using _ = hurryTimers(1234);
  await using served = await startGateway({ gateway: { seatIdleMs: 1234 } });
  const opened = await post(served.url, { body: INITIALIZE });
  const list = () =>
    post(served.url, {
      body: LIST_TOOLS,
      headers: { "mcp-session-id": String(opened.headers["mcp-session-id"]) },
    });
  while (served.office.server.stats.members > 1) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const { agent } = served.office;
  await agent.join("north");
  const refused = await list();
  assertEquals([refused.status, JSON.parse(refused.body).error], [503, {
    code: -32000,
    message:
      'The office "north" is in use by its Agent "planner", and has one seat: stop that Agent, or let it leave the office, and try again',
  }]);
  await agent.leave();
  const { status, body } = await list();
  assertEquals([status, body.includes('"pc__echo"')], [200, true]);
});

Deno.test("at another node of a cluster the reason names the node of the Agent, wherever the office is", async () => {
  const bus = new Bus();
  await using stack = new AsyncDisposableStack();
  const serve = async (name: string) => {
    const { server, url } = await bus.serve(name, { gateway: mcpGateway() });
    stack.defer(() => server.close({ graceMs: 0 }));
    return url;
  };
  const home = await serve("home");
  const here = await serve("here");
  const there = await serve("there");
  stack.use(await joinRaw(home, "computer", "pc", "north"));
  const open = (url: string) => post(`${url}/mcp/north`, { body: INITIALIZE });
  assertEquals((await open(here)).status, 200);
  for (const url of [home, there]) {
    const { status, body } = await open(url);
    assertEquals([status, JSON.parse(body).error.message], [
      503,
      'The office "north" is in use by its Agent "mcp" at the node "here", and has one seat: stop that Agent, or let it leave the office, and try again; where it serves MCP clients, a balancer leads all of an office to one node',
    ]);
    const agent = stack.use(await connectRaw(url));
    assertEquals(await agent.join("agent", "planner", "north"), [
      false,
      'Room already has an agent: "mcp" has it until it leaves, at the node "here"',
    ]);
  }
  stack.use(await joinRaw(home, "agent", "planner", "south"));
  const { body } = await post(`${there}/mcp/south`, { body: INITIALIZE });
  assertStringIncludes(
    JSON.parse(body).error.message,
    'its Agent "planner" at the node "home"',
  );
});

Deno.test("a seat with an open stream is not given up", async () => {
  using timers = hurryTimers(1234);
  await using served = await startGateway({ gateway: { seatIdleMs: 1234 } });
  await using client = await CLIENTS["v2, 2026"]!(served);
  await client.listening();
  await client.tools();
  const before = timers.armed.length;
  await served.computer.leave();
  await client.changed(1); // only the holder of the seat is notified
  assertEquals(timers.armed.length, before);
});

Deno.test("one seat serves 100 clients at once, each with its own answers", async () => {
  await using served = await startGateway({
    server: { headerTimeoutMs: 120_000 },
  });
  using log = captureLog();
  const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`);
  const answers = await Promise.all(
    texts.map(async (text) => textOf(await post(served.url, callEcho(text)))),
  );
  assertEquals(answers, texts);
  const joined = log.audit.filter(({ event }) => event === "joined");
  assertEquals(joined.map(({ name }) => name), ["mcp"]);
});

Deno.test("at most so many offices are served: the one that was used longest ago makes room", async () => {
  await using served = await startGateway({ gateway: { maxOffices: 2 } });
  const at = (office: string) => new URL(`/mcp/${office}`, served.url);
  for (const office of ["one", "two", "three", "one"]) {
    assertEquals((await listTools({ url: at(office) })).status, 200, office);
  }
  const streams = await Promise.all(
    ["one", "three"].map((office) => send(at(office), LISTEN)),
  );
  assertEquals(streams.map(({ status }) => status), [200, 200]);
  const refused = await listTools({ url: at("four") });
  assertEquals(refused.status, 503);
  assertStringIncludes(refused.body, "Too many offices are in use: at most 2");
  for (const { body } of streams) await body?.cancel();
});

Deno.test("rate limits count per principal, and a refusal is a limit_hit of the audit log", async () => {
  await using served = await startGateway({
    keys: true,
    server: { limits: { callsPerAgent: 2 } },
  });
  using log = captureLog();
  const call = (key: string) =>
    post(
      served.url,
      withKey(key, modernRequest("tools/call", { name: "pc__slow" })),
    );
  const list = (key: string) =>
    post(served.url, withKey(key, modernRequest("tools/list")));
  const running = [call(ann), call(ann)];
  await served.holds(1); // the second one waits for its turn
  let refused = await list(ann);
  while (refused.status === 200) refused = await list(ann); // the second one is on its way
  assertEquals([refused.status, refused.headers["retry-after"]], [429, "1"]);
  assertEquals((await list(bob)).status, 200);
  served.release();
  await served.holds(1);
  served.release();
  const ended = await Promise.all(running);
  assertEquals(ended.map(({ status }) => status), [200, 200]);
  assertEquals(log.audit.find(({ event }) => event === "limit_hit"), {
    event: "limit_hit",
    limit: "calls_per_agent",
    address: "127.0.0.1",
    principal: "key:ann",
  });
});

const NOTE = `a2c://pc/resource/notes/${
  encodeURIComponent("note://me:hunter2@north/1?sig=hunter2#hunter2")
}`;

/** Has one desktop, any resource, and a prompt. */
const reads: GatewaySetup["answer"] = (event) => {
  const req_id = "1";
  const answers: Record<string, object> = {
    "client:get_desktop": { desktops: ["window://w/1\n\nhello"], req_id },
    "client:read_resource": {
      contents: [{ uri: "note://1", text: "hello" }],
      req_id,
    },
    "client:get_skills": { skills: [], req_id },
    "client:get_prompts": {
      prompts: [{ name: "greet", mcp_server: "notes" }],
      req_id,
    },
    "client:get_prompt": {
      messages: [{ role: "user", content: { type: "text", text: "hello" } }],
      req_id,
    },
  };
  if (answers[event]) return answers[event];
  throw new Error(`${event} is not of this Computer`);
};

Deno.test("reads beyond the limits of the seat wait for their turn as calls do, whoever asks", async () => {
  let running = 0;
  let most = 0;
  await using served = await startGateway({
    keys: true,
    server: { limits: { eventsPerSecond: 52, callsPerAgent: 30 } },
    answer: async (event, payload) => {
      // Lists do not wait, and are asked for once.
      if (!/get_(skills|prompts)$/.test(event)) {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 0));
        running--;
      }
      return await reads(event, payload);
    },
  });
  using log = captureLog();
  const answers = await Promise.all(
    Array.from({ length: 56 }, (_, at) =>
      post(
        served.url,
        withKey(
          at % 4 < 2 ? ann : bob,
          at % 2
            ? modernRequest("resources/read", { uri: NOTE })
            : modernRequest("prompts/get", { name: "pc__notes__greet" }),
        ),
      )),
  );
  for (const { status, body } of answers) {
    assertEquals([status, body.includes("hello")], [200, true], body);
  }
  assert(most <= 27, `${most} at once`);
  const hits = log.audit.filter(({ event }) => event === "limit_hit");
  assertEquals(hits, []); // the seat itself never was refused
});

for (const era of ERAS) {
  Deno.test(`${era}: the audit log says who reads, what, and with what program`, async () => {
    await using served = await startGateway({ keys: true, answer: reads });
    using log = captureLog();
    {
      const { url } = served;
      await using client = await sdkClient({ url, fetch: as(ann) }, era);
      await client.readResource({ uri: "a2c://pc/desktop" });
      await client.readResource({ uri: NOTE });
      await client.getPrompt({ name: "pc__notes__greet" });
    }
    const lines = log.audit.filter(({ event }) => event === "read");
    const common = {
      event: "read",
      office: "north",
      agent: "mcp",
      principal: "key:ann",
      client: "test 1.0.0",
      computer: "pc",
      outcome: "ok",
    };
    const mcp_server = "notes";
    assertEquals(
      lines.map(({ ms, req_id, ...rest }) => {
        assertEquals([Number.isInteger(ms), String(req_id).length], [true, 36]);
        return rest;
      }),
      [
        { request: "client:get_desktop" },
        { request: "client:read_resource", mcp_server, uri: "note://north/1" },
        { request: "client:get_prompt", mcp_server, prompt: "greet" },
      ].map((read) => ({ ...common, ...read })),
    );
    assertEquals(/hunter2|hello/.test(log.text), false);
  });
}

Deno.test("the audit log of the node where an office lives names the MCP clients of other nodes", async () => {
  const bus = new Bus();
  const home = await bus.serve("home");
  await using _ = home.server;
  await using served = await startGateway({
    server: {
      cluster: bus.join("door").cluster,
      authenticator: gatewayKeys(),
    },
    agent: { url: home.url },
    computer: { url: home.url },
  });
  using log = captureLog();
  for (const key of [ann, bob]) {
    const answer = await post(served.url, withKey(key, callEcho("hello")));
    assertEquals(answer.status, 200);
  }
  assertEquals(bus.homeOf("north"), "home");
  const lines = log.audit.filter(({ event }) => event === "tool_call");
  assertEquals(
    lines.map(({ office, agent, principal, client, tool, outcome }) =>
      [office, agent, principal, client, tool, outcome].join(", ")
    ),
    ["ann", "bob"].map((who) => `north, mcp, key:${who}, raw 1.0.0, echo, ok`),
  );
  assertEquals(log.text.includes("x-smcp-gateway"), false);
});

Deno.test("a shutdown lets calls end and their results through, and ends streams", async () => {
  await using served = await startGateway();
  await using client = await CLIENTS["v2, 2026"]!(served);
  await client.listening();
  const calls = [{ onprogress: () => {} }, {}].map((asking) =>
    client.call("pc__slow", {}, asking)
  );
  await served.holds(2);
  const closing = served.office.server.close();
  assertEquals((await listTools(served)).status, 503);
  served.release();
  for (const { content } of await Promise.all(calls)) {
    assertEquals(content, [{ type: "text", text: "done" }]);
  }
  await closing;
});

Deno.test("a stream ends when its key is revoked, and when its token expires", async () => {
  const secret = "a secret of 32 characters or more";
  const tokens = jwt({ key: { secret } });
  let keys: Authenticator = gatewayKeys();
  const authenticator: Authenticator = {
    authenticate: (credentials) =>
      credentials.headers.authorization === undefined
        ? keys.authenticate(credentials)
        : tokens.authenticate(credentials),
    refresh: (identity) => keys.refresh?.(identity),
  };
  await using served = await startGateway({
    keys: true,
    server: { authenticator },
  });
  const byKey = await send(served.url, withKey(ann, LISTEN));
  assertEquals(byKey.status, 200);
  keys = apiKeys([{ id: "bob", key: bob }]);
  await served.office.server.recheckSessions();
  await assertRejects(() => byKey.text());
  const refused = await post(served.url, withKey(ann, LISTEN));
  assertEquals(refused.status, 401);
  // Expired already, but for the tolerance of clocks: a machine that stalls may use it too late.
  const expiring = async () => {
    const token = await new SignJWT({ sub: "ada", role: "agent" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(Math.floor(Date.now() / 1000) - 1)
      .sign(new TextEncoder().encode(secret));
    const headers = { ...LISTEN.headers, authorization: `Bearer ${token}` };
    return await send(served.url, { ...LISTEN, headers });
  };
  let byToken = await expiring();
  while (byToken.status === 401) {
    await byToken.body?.cancel();
    byToken = await expiring();
  }
  assertEquals(byToken.status, 200);
  await assertRejects(() => byToken.text());
});

Deno.test("a path that names no possible office is not found, and the answer says why", async () => {
  await using served = await startGateway({
    server: { authorizationServers: ["https://id.example.com"] },
  });
  const { origin } = served.url;
  const why = "1 to 256 characters without control characters";
  for (const name of ["%00", "a%0Ab", "%C2%85", "x".repeat(257), "%ED%A0%80"]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const { status, body } = await post(`${origin}/mcp/${name}`, { method });
      assertEquals(status, 404, body);
      assertStringIncludes(JSON.parse(body).error.message, why);
    }
    const metadata = `${origin}/.well-known/oauth-protected-resource`;
    const { status, body } = await post(`${metadata}/mcp/${name}`, {
      method: "GET",
    });
    assertEquals(status, 404);
    assertStringIncludes(body, why);
  }
  const longest = await post(`${origin}/mcp/${"x".repeat(256)}`);
  assertEquals(longest.status, 400, longest.body);
});

Deno.test("mcpGateway() refuses what it cannot use, and names it", () => {
  for (
    const [options, message] of [
      [{ seatIdleMs: 0 }, "Cannot use seatIdleMs 0: expected a whole number"],
      [{ maxOffices: 0.5 }, "Cannot use maxOffices 0.5: expected a whole"],
      [{ agentName: "" }, "Cannot use agentName: expected a name"],
      [{ agentName: "\ud800" }, "Cannot use agentName: expected a name"],
      [{ computer: "\ud800" }, "Cannot use computer: expected the name"],
      [{ nameLimit: 1 }, "Cannot use nameLimit 1"],
    ] as const
  ) assertThrows(() => mcpGateway(options), Error, message);
});

Deno.test("the audit log says who calls a tool that has got its other name meanwhile", async () => {
  using log = captureLog();
  await using served = await startGateway({ keys: true });
  await served.computer.leave();
  let name = "look";
  await served.office.addScriptedComputer(
    "desk",
    (event, payload) => {
      const { req_id, tool_name } = Object(payload);
      if (event === "client:get_tools") {
        return { tools: [listed(name)], req_id };
      }
      if (event !== "client:tool_call") throw new ProtocolError(404, "none");
      if (tool_name === "fix__look") return { content: [] };
      name = "fix__look";
      return { content: [], isError: true, meta: { error_code: 4001 } };
    },
    { auth: { api_key: GATEWAY_KEYS.computer } },
  );
  const call = modernRequest("tools/call", { name: "desk__look" });
  await post(served.url, withKey(ann, modernRequest("tools/list")));
  await post(served.url, withKey(ann, call));
  const calls = log.audit.filter(({ event }) => event === "tool_call")
    .map(({ tool, principal, client }) => [tool, principal, client]);
  const caller = ["key:ann", "raw 1.0.0"];
  assertEquals(calls, [["look", ...caller], ["fix__look", ...caller]]);
});

const listed = (name: string) => ({
  bundle_id: "fix",
  name,
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
});
