import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../../agent/mod.ts";
import type { ConnectionOptions } from "../../../../client/options.ts";
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
import { holdTimers, hurryTimers } from "../../../support/timers.ts";

const { ann, bob, computer } = GATEWAY_KEYS;

/** How long an Agent waits for calls to end, and MCP clients for an Agent. */
const [MAKE_WAY_MS, LOAN_MS] = [2_000, 8_000];

/** A Server that asks for keys. */
const startKeyed = () =>
  startGateway({
    server: { authenticator: gatewayKeys() },
    computer: { auth: { api_key: computer } },
  });

/** An Agent of somebody's own, connected. */
async function ownAgent(
  { base }: ServedGateway,
  options: Partial<ConnectionOptions> = {},
): Promise<SmcpAgent> {
  const agent = new SmcpAgent({
    url: base,
    name: "planner",
    transports: ["websocket"],
    ...options,
  });
  await agent.connect();
  return agent;
}

/** Why an Agent may not join; it must be refused. */
async function refusal(agent: SmcpAgent): Promise<string> {
  const error = await assertRejects(() => agent.join("north"), ConnectionError);
  assertEquals(error.code, "refused");
  return error.message;
}

const withKey = (key: string, request = modernRequest("tools/list")) => ({
  ...request,
  headers: { ...request.headers, "x-api-key": key },
});

const callSlow = modernRequest("tools/call", {
  name: "pc__slow",
  arguments: {},
});

const textOf = ({ body }: { body: string }): string =>
  JSON.parse(body).result.content[0].text;

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the Server's MCP makes way for an Agent, and goes on when that leaves`, async () => {
    using _ = holdTimers(LOAN_MS);
    await using served = await startGateway();
    await using client = await connect(served);
    await client.listening();
    await client.tools();
    const agent = await ownAgent(served);
    await agent.join("north");
    const called = client.call("pc__echo", { text: "later" });
    const { content } = await agent.callTool("pc", "echo", { text: "now" });
    assertEquals(content[0]?.text, "now");
    await agent.close();
    assertEquals((await called).content[0]?.text, "later");
    await client.terminate();
  });
}

Deno.test("a client that only listens is notified of changes after an Agent has come and gone", async () => {
  await using served = await startGateway();
  await using client = await CLIENTS["v2, 2026"]?.(served);
  assert(client);
  await client.listening();
  await client.tools();
  const agent = await ownAgent(served);
  await agent.join("north");
  await served.computer.leave();
  await agent.close();
  await client.changed(1);
  await served.computer.join("north");
  await client.changed(2);
  assertEquals((await client.tools()).length, 2);
});

Deno.test("an Agent waits for the end of calls over MCP, and is refused while one runs on", async () => {
  await using served = await startGateway();
  const slow = post(served.url, callSlow);
  await served.holds(1);
  await using agent = await ownAgent(served);
  {
    using _ = hurryTimers(MAKE_WAY_MS);
    assertEquals(
      await refusal(agent),
      'Room already has an agent: "mcp" has it for MCP clients, until their calls have ended: 1 in flight',
    );
  }
  using _ = holdTimers(MAKE_WAY_MS);
  const joining = agent.join("north");
  served.release();
  await joining;
  assertEquals(textOf(await slow), "done");
});

Deno.test("an Agent gets no seat that MCP clients with other credentials use", async () => {
  await using served = await startKeyed();
  assertEquals((await post(served.url, withKey(ann))).status, 200);
  await using stranger = await ownAgent(served, { auth: { api_key: bob } });
  const reason =
    'Room already has an agent: "mcp" has it for MCP clients with other credentials, until 60 seconds after their last request or stream';
  assertEquals(await refusal(stranger), reason);
  const own = await ownAgent(served, { auth: { api_key: ann } });
  await own.join("north");
  await own.close();
  assertEquals((await post(served.url, withKey(ann))).status, 200);
  assertEquals((await post(served.url, withKey(bob))).status, 200);
  await using late = await ownAgent(served, { auth: { api_key: ann } });
  assertEquals(await refusal(late), reason);
});

Deno.test("who may not join an office as its Agent learns nothing of its seat", async () => {
  await using served = await startKeyed();
  assertEquals((await post(served.url, withKey(ann))).status, 200);
  await using agent = await ownAgent(served, { auth: { api_key: computer } });
  assertEquals(
    await refusal(agent),
    "Not allowed to join as agent: the credentials are for computer",
  );
});

Deno.test("no Agent makes way for another; a Server with MCP says who has the seat", async () => {
  await using served = await startGateway();
  await using first = await ownAgent(served);
  await first.join("north");
  await using second = await ownAgent(served, { name: "second" });
  assertEquals(
    await refusal(second),
    'Room already has an agent: "planner" has it until it leaves',
  );
  assertEquals(first.office, "north");
});

Deno.test("an MCP client waits a while for an Agent that has come in between, then gets its name", async () => {
  await using served = await startGateway();
  assertEquals((await listTools(served)).status, 200);
  using timers = hurryTimers(LOAN_MS);
  const agent = await ownAgent(served);
  await agent.join("north");
  assertEquals(timers.armed, [LOAN_MS]);
  const { status, body } = await listTools(served);
  assertEquals([status, /in use by its Agent \\"planner\\"/.test(body)], [
    503,
    true,
  ]);
  await agent.close();
  assertEquals(textOf(await post(served.url, callEcho("again"))), "again");
});

Deno.test("a Server shuts down while MCP clients wait for the seat", async () => {
  await using served = await startGateway();
  await listTools(served);
  await using agent = await ownAgent(served);
  await agent.join("north");
  const waiting = post(served.url, callEcho("late"));
  await agent.callTool("pc", "echo", { text: "meanwhile" });
  await served.server.close({ graceMs: 0 });
  const answer = await waiting.catch(() => undefined);
  assert(answer === undefined || answer.status === 503, answer?.body);
});
