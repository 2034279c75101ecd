import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConnectionError, type SmcpAgent } from "../../../agent/mod.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import {
  agentAt,
  callEcho,
  GATEWAY_KEYS,
  listTools,
  startGateway,
  withKey,
} from "../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";
import { holdTimers, hurryTimers } from "../../support/timers.ts";

const { ann, bob, computer } = GATEWAY_KEYS;

/** How long an Agent waits for calls to end, and MCP clients for an Agent. */
const MAKE_WAY_MS = 2_000;
const LOAN_MS = 8_000;

/** Why an Agent may not join; it must be refused. */
async function refusal(agent: SmcpAgent): Promise<string> {
  const error = await assertRejects(() => agent.join("north"), ConnectionError);
  assertEquals(error.code, "refused");
  return error.message;
}

const LIST = modernRequest("tools/list");

const textOf = ({ body }: { body: string }): string =>
  JSON.parse(body).result.content[0].text;

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the Server's MCP makes way for an Agent, and goes on when that leaves`, async () => {
    using _ = holdTimers(LOAN_MS);
    await using served = await startGateway();
    const { agent } = served.office;
    await using client = await connect(served);
    await client.listening();
    await client.tools();
    await agent.join("north");
    const called = client.call("pc__echo", { text: "later" });
    const { content } = await agent.callTool("pc", "echo", { text: "now" });
    assertEquals(content[0]?.text, "now");
    await agent.leave();
    assertEquals((await called).content[0]?.text, "later");
    await client.terminate();
  });
}

Deno.test("a client that only listens is notified of changes after an Agent has come and gone", async () => {
  await using served = await startGateway();
  const { agent } = served.office;
  await using client = await CLIENTS["v2, 2026"]!(served);
  await client.listening();
  await client.tools();
  await agent.join("north");
  await served.computer.leave();
  await agent.leave();
  await client.changed(1);
  await served.computer.join("north");
  await client.changed(2);
  assertEquals((await client.tools()).length, 2);
});

Deno.test("an Agent waits for the end of calls over MCP, and is refused while one runs on", async () => {
  await using served = await startGateway();
  const { agent } = served.office;
  const name = "pc__slow";
  const slow = post(served.url, modernRequest("tools/call", { name }));
  await served.holds(1);
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
  await using served = await startGateway({ keys: true });
  const { agent: own, url } = served.office;
  const statusAs = async (key: string) =>
    (await post(served.url, withKey(key, LIST))).status;
  assertEquals(await statusAs(ann), 200);
  await using stranger = await agentAt(url, { auth: { api_key: bob } });
  const reason =
    'Room already has an agent: "mcp" has it for MCP clients with other credentials, until 60 seconds after their last request or stream';
  assertEquals(await refusal(stranger), reason);
  await own.join("north");
  await own.leave();
  assertEquals([await statusAs(ann), await statusAs(bob)], [200, 200]);
  assertEquals(await refusal(own), reason);
});

Deno.test("a client that may not join an office as its Agent gets no answer about its seat", async () => {
  await using served = await startGateway({ keys: true });
  assertEquals((await post(served.url, withKey(ann, LIST))).status, 200);
  const auth = { api_key: computer };
  await using agent = await agentAt(served.office.url, { auth });
  assertEquals(
    await refusal(agent),
    "Not allowed to join as agent: the credentials are for computer",
  );
});

Deno.test("no Agent makes way for another; a Server with MCP says who has the seat", async () => {
  await using served = await startGateway();
  const { agent: first, url } = served.office;
  await first.join("north");
  await using second = await agentAt(url, { name: "second" });
  assertEquals(
    await refusal(second),
    'Room already has an agent: "planner" has it until it leaves',
  );
  assertEquals(first.office, "north");
});

Deno.test("an MCP client waits a while for an Agent that has come in between, then gets its name", async () => {
  await using served = await startGateway();
  const { agent } = served.office;
  assertEquals((await listTools(served)).status, 200);
  using timers = hurryTimers(LOAN_MS);
  await agent.join("north");
  assertEquals(timers.armed, [LOAN_MS]);
  const { status, body } = await listTools(served);
  assertEquals(status, 503);
  assert(/in use by its Agent \\"planner\\"/.test(body), body);
  await agent.leave();
  assertEquals(textOf(await post(served.url, callEcho("again"))), "again");
});

Deno.test("a Server shuts down while MCP clients wait for the seat", async () => {
  await using served = await startGateway();
  const { agent, server } = served.office;
  await listTools(served);
  await agent.join("north");
  // Its connection may be cut before the Server has closed.
  const waiting = post(served.url, callEcho("late")).catch(() => undefined);
  await agent.callTool("pc", "echo", { text: "meanwhile" });
  await server.close({ graceMs: 0 });
  const answer = await waiting;
  assert(answer === undefined || answer.status === 503, answer?.body);
});
