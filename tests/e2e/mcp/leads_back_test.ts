/**
 * An office must not be offered to itself: by its own address, through other offices, or through a proxy
 * (protocol §15).
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SmcpComputer } from "../../../computer/mod.ts";
import type { ToolCallReq } from "../../../protocol/mod.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import {
  CLIENTS,
  connectV1,
  type TestClient,
} from "../../support/mcp/clients.ts";
import {
  pipeCommand,
  type ServedGateway,
  startGateway,
} from "../../support/mcp/gateway.ts";
import { startMessageProxy } from "../../support/mcp/message_proxy.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";

const KEY = "a2c-smcp/offices";

const echo = () => fixtureHere({ only: ["echo"] });

const over = (url: string | URL) => ({
  type: "streamable" as const,
  server_parameters: { url: String(url) },
});

/** A Server with MCP whose Computer has one tool, and that Computer. */
async function startOne(prefix?: string): Promise<
  ServedGateway & { readonly pc: SmcpComputer }
> {
  const fix = fixtureHere({ only: ["echo"], ...(prefix && { prefix }) });
  const served = await startGateway({ servers: { fix } });
  const { computer } = served;
  assert(computer instanceof SmcpComputer);
  return { ...served, pc: computer };
}

/** The tools of an office, each as `COMPUTER TOOL`, by the names that Computers give them. */
const toolsOf = async (client: TestClient): Promise<string[]> =>
  (await client.tools()).map(({ _meta }) =>
    `${_meta?.["a2c-smcp/computer"]} ${_meta?.["a2c-smcp/tool"]}`
  ).toSorted();

/**
 * Calls the last tool, which is the one behind the most offices, until it answers with a text: its name
 * follows from the configurations of all Computers before it, which have just changed.
 */
async function callLast(client: TestClient, answer: RegExp) {
  await client.listening();
  for (let changes = 1;; changes++) {
    const { name } = (await client.tools()).at(-1) ?? { name: "" };
    const result = await client.call(name, { text: "hello" });
    if (answer.test(String(result.content[0]?.text))) return result;
    await client.changed(changes);
  }
}

/** The status of an MCP server of a Computer, as soon as it is the wanted one. */
function stateOf(computer: SmcpComputer, server: string, state: string) {
  const find = () =>
    computer.status().servers
      .find((each) => each.name === server && each.state === state);
  return new Promise<NonNullable<ReturnType<typeof find>>>((resolve) => {
    const look = () => {
      const found = find();
      if (found === undefined) return;
      off();
      resolve(found);
    };
    const off = computer.on("serverState", look);
    look();
  });
}

const LEADS_BACK =
  'it leads back to the office "north", which this Computer is in: the office would be offered its own tools, again and again; remove it from the configuration';

for (
  const [way, reach] of Object.entries({
    "over HTTP": (url: URL) => over(url),
    "by smcp-agent mcp": (url: URL) => {
      const { command, args } = pipeCommand(url);
      const server_parameters = { command, args: [...args] };
      return { type: "stdio" as const, server_parameters };
    },
  })
) {
  Deno.test(`a Computer refuses its own office as an MCP server, ${way}, and the office's tools stay the same`, async () => {
    await using served = await startOne();
    await using client = await connectV1(served);
    const before = await toolsOf(client);
    await served.pc.addServer("office", reach(served.url));
    const { error, failure, nextAttempt } = await stateOf(
      served.pc,
      "office",
      "failed",
    );
    assertEquals([error, failure, nextAttempt], [
      LEADS_BACK,
      "leads_back",
      undefined,
    ]);
    assertEquals(await toolsOf(client), before);
    await client.terminate();
  });
}

Deno.test("a Computer ends an MCP server that turns out to be the office that it joins, before it is offered there, and tries again in another office", async () => {
  await using served = await startOne();
  await using client = await connectV1(served);
  await client.listening();
  const before = await toolsOf(client);
  await using late = new SmcpComputer({
    url: served.office.url,
    name: "late",
    servers: { fix: echo(), office: over(served.url) },
  });
  await late.connect();
  await late.serversSettled();
  await stateOf(late, "office", "running");
  await late.join("north");
  const { error } = await stateOf(late, "office", "failed");
  assertEquals(error, LEADS_BACK);
  let tools: string[];
  for (let changes = 0;; changes++) {
    tools = await toolsOf(client);
    if (tools.length > before.length) break;
    await client.changed(changes + 1);
  }
  assertEquals(tools.length, before.length + 1, tools.join());
  await late.join("south");
  await stateOf(late, "office", "running");
  await client.terminate();
});

Deno.test("of two Computers in two offices that lead to each other through proxies, the second is refused", async () => {
  await using north = await startOne();
  await using south = await startOne("far");
  await using toNorth = await startMessageProxy(north.url);
  await using toSouth = await startMessageProxy(south.url);
  await using client = await connectV1(south);
  await north.pc.addServer("far", over(toSouth.url));
  await stateOf(north.pc, "far", "running");
  const before = await toolsOf(client);
  await south.pc.addServer("near", over(toNorth.url));
  const { error } = await stateOf(south.pc, "near", "failed");
  assertEquals(error, LEADS_BACK);
  assertEquals(await toolsOf(client), before);
  await using other = await connectV1(north);
  const there = await toolsOf(other);
  assertEquals(there.length, 2, there.join());
  await callLast(other, /^hello$/);
  await other.terminate();
  await client.terminate();
});

Deno.test("two Computers in two offices that lead to each other at the same time do not let tools grow", async () => {
  await using north = await startOne();
  await using south = await startOne();
  const sides = [[north, south], [south, north]] as const;
  const refused = sides.map(([{ pc }]) => stateOf(pc, "other", "failed"));
  await Promise.all(
    sides.map(([{ pc }, { url }]) => pc.addServer("other", over(url))),
  );
  await Promise.race(refused);
  for (const served of [north, south]) {
    await using client = await connectV1(served);
    const names = await toolsOf(client);
    assert(names.length <= 2, names.join());
    await client.terminate();
  }
});

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a call through more than four offices is refused with 4003 and their ids`, async () => {
    await using stack = new AsyncDisposableStack();
    const offices: Awaited<ReturnType<typeof startOne>>[] = [];
    for (let i = 0; i < 5; i++) {
      const next = stack.use(await startOne());
      const [behind] = offices;
      if (behind) await next.pc.addServer("next", over(behind.url));
      offices.unshift(next);
    }
    const [first, second] = offices;
    assert(first && second);
    await using near = await connect(second);
    await using far = await connect(first);
    await callLast(near, /^hello$/);
    const ids =
      /passed 4 offices, and at most 4 are allowed \([\w-]+(, [\w-]+){3}\)/;
    const { isError } = await callLast(far, ids);
    assertEquals(isError, true);
    await near.terminate();
    await far.terminate();
  });
}

Deno.test("a proxy that drops what names offices leaves the limit of a call, which ends the loop", async () => {
  await using served = await startOne();
  const drop = (text: string) =>
    /"method":"(initialize|tools\/list)"|"protocolVersion"|"tools":\[/
        .test(text)
      ? text.replaceAll(KEY, "dropped")
      : text;
  await using proxy = await startMessageProxy(served.url, drop);
  await served.pc.addServer("loop", over(proxy.url));
  await stateOf(served.pc, "loop", "running");
  const { body } = await post(
    served.url,
    call("pc__fix__echo", { text: "a" }, 4),
  );
  const { content, _meta } = JSON.parse(body).result;
  assertEquals(_meta.error_code, 4003);
  assertStringIncludes(content[0].text, "(of0, of1, of2, of3)");
});

/** A call that has passed n offices. */
function call(name: string, args: object, passed: number) {
  const { headers, body } = modernRequest("tools/call", {
    name,
    arguments: args,
  });
  const { params, ...message } = JSON.parse(body);
  params._meta[KEY] = Array.from({ length: passed }, (_, i) => `of${i}`);
  return { headers, body: JSON.stringify({ ...message, params }) };
}

Deno.test("a gateway adds its office to those that a call has passed, and the Computer passes them on", async () => {
  await using served = await startGateway();
  const seen: unknown[] = [];
  await served.office.addScriptedComputer("spy", (event, payload) => {
    if (event === "client:get_tools") {
      const tool = { name: "look", description: "", params_schema: {} };
      const tools = [{ ...tool, return_schema: null }];
      seen.push(Object(payload)._meta?.[KEY]);
      return { tools, req_id: "1" };
    }
    seen.push((payload as ToolCallReq)._meta?.[KEY]);
    return { content: [] };
  });
  await post(served.url, call("spy__look", {}, 3));
  const [fetched] = seen.filter((each) => each !== undefined);
  assert(Array.isArray(fetched) && fetched.length === 1);
  assertEquals(seen.at(-1), ["of0", "of1", "of2", ...fetched]);
});

Deno.test("a gateway names its office in server/discover, and refuses a client that says it is in that office", async () => {
  await using served = await startOne();
  const request = modernRequest("server/discover");
  const { result } = JSON.parse((await post(served.url, request)).body);
  const [own] = result._meta[KEY];
  const { params, ...message } = JSON.parse(request.body);
  params._meta[KEY] = ["another", own];
  const body = JSON.stringify({ ...message, params });
  const refused = await post(served.url, { ...request, body });
  const { error } = JSON.parse(refused.body);
  assertEquals([error.code, error.data], [-32600, { [KEY]: [own] }]);
});
