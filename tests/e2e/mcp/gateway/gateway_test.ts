import { assertEquals, assertStringIncludes } from "@std/assert";
import { SmcpAgent } from "../../../../agent/mod.ts";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { newAuthority, newCertificate } from "../../../support/certificates.ts";
import { Bus } from "../../../support/cluster/bus.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import {
  callEcho,
  GATEWAY_KEYS,
  gatewayKeys,
  listTools,
  type ServedGateway,
  startGateway,
} from "../../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { INITIALIZE, LIST_TOOLS } from "../../../support/mcp/raw.ts";
import { hurryTimers } from "../../../support/timers.ts";

const { ann } = GATEWAY_KEYS;

/** An Agent of somebody's own. */
const ownAgent = ({ base }: ServedGateway, name = "planner") =>
  new SmcpAgent({ url: base, name, transports: ["websocket"] });

/** Resolves once an Agent of somebody's own has the seat that nobody had any more. */
async function takesSeat(served: ServedGateway): Promise<SmcpAgent> {
  const agent = ownAgent(served);
  await agent.connect();
  while (served.server.stats.members > 1) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await agent.join("north");
  return agent;
}

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

Deno.test("the seat is given up when nobody uses it, and taken again; sessions and names stay", async () => {
  using _ = hurryTimers(1234);
  await using served = await startGateway({ gateway: { seatIdleMs: 1234 } });
  const opened = await post(served.url, { body: INITIALIZE });
  const list = () =>
    post(served.url, {
      body: LIST_TOOLS,
      headers: { "mcp-session-id": String(opened.headers["mcp-session-id"]) },
    });
  const agent = await takesSeat(served);
  const refused = await list();
  assertEquals([refused.status, JSON.parse(refused.body).error], [503, {
    code: -32000,
    message:
      'The office "north" is in use by its Agent "planner", and has one seat: stop that Agent, or let it leave the office, and try again',
  }]);
  await agent.close();
  const { status, body } = await list();
  assertEquals([status, body.includes('"pc__echo"')], [200, true]);
});

Deno.test("a seat with an open stream is not given up", async () => {
  using timers = hurryTimers(1234);
  await using served = await startGateway({ gateway: { seatIdleMs: 1234 } });
  await using client = await CLIENTS["v2, 2026"]?.(served);
  await client?.listening();
  await client?.tools();
  const before = timers.armed.length;
  await served.computer.leave();
  await client?.changed(1); // only who sits there hears of it
  assertEquals(timers.armed.length, before);
});

Deno.test("one seat serves 100 clients at once, each with its own answers", async () => {
  await using served = await startGateway({
    server: { headerTimeoutMs: 120_000 },
  });
  const log = captureLog();
  try {
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        const { status, body } = await post(served.url, callEcho(`text ${at}`));
        return [status, JSON.parse(body).result.content[0].text];
      }),
    );
    assertEquals(answers, answers.map((_, at) => [200, `text ${at}`]));
    const joined = log.audit.filter(({ event }) => event === "joined");
    assertEquals(joined.map(({ name }) => name), ["mcp"]);
  } finally {
    log[Symbol.dispose]();
  }
});

Deno.test("the seat is taken behind TLS with client certificates, keys and the protocol 0.1", async () => {
  const authority = await newAuthority("root");
  const tls = await newCertificate("server", authority);
  const own = await newCertificate("client", authority);
  const gateway = mcpGateway();
  await using server = createSmcpServer({
    gateway,
    protocol: "0.1",
    authenticator: gatewayKeys(),
    hosts: ["smcp.example.com"],
  });
  const { url } = await server.listen({
    tls: { ...tls, clientCa: authority.cert },
  });
  const client = Deno.createHttpClient({
    caCerts: [authority.cert],
    cert: own.cert,
    key: own.key,
  });
  try {
    const { headers, body } = modernRequest("tools/list");
    const response = await fetch(`${url}/mcp/north`, {
      client,
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "x-api-key": ann,
      },
      body,
    });
    assertEquals([response.status, (await response.json()).result.tools], [
      200,
      [],
    ]);
    assertEquals(server.stats.members, 1);
  } finally {
    client.close();
  }
});

Deno.test("at most so many offices are served: the one that was used longest ago makes room", async () => {
  await using served = await startGateway({ gateway: { maxOffices: 2 } });
  const at = (office: string) => ({
    url: new URL(`/mcp/${office}`, served.url),
  });
  for (const office of ["one", "two", "three", "one"]) {
    assertEquals((await listTools(at(office))).status, 200, office);
  }
  const streams = await Promise.all(["one", "three"].map(async (office) => {
    const open = new AbortController();
    const { headers, body } = modernRequest("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    const { body: stream, status } = await fetch(at(office).url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
      },
      body,
      signal: open.signal,
    });
    assertEquals(status, 200);
    return stream;
  }));
  const refused = await listTools(at("four"));
  assertEquals(refused.status, 503);
  assertStringIncludes(refused.body, "Too many offices are in use: at most 2");
  for (const stream of streams) await stream?.cancel();
});

Deno.test("the audit log of the node where an office lives names the MCP clients of other nodes", async () => {
  const bus = new Bus();
  const home = await bus.serve("home");
  await using _ = home.server;
  await using served = await startGateway({
    server: {
      cluster: bus.join("door").cluster,
      authenticator: gatewayKeys(),
    },
    computer: { url: home.url },
  });
  using log = captureLog();
  for (const key of [ann, GATEWAY_KEYS.bob]) {
    const { headers, body } = callEcho("hello");
    const answer = await post(served.url, {
      body,
      headers: { ...headers, "x-api-key": key },
    });
    assertEquals(answer.status, 200);
  }
  assertEquals(bus.homeOf("north"), "home");
  const lines = log.audit.filter(({ event }) => event === "tool_call");
  assertEquals(
    lines.map(({ agent, principal, outcome }) => [agent, principal, outcome]),
    [["mcp", "key:ann", "ok"], ["mcp", "key:bob", "ok"]],
  );
});
