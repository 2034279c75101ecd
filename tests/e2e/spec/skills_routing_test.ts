import { assertEquals } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  GET_BLOB_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPTS_EVENT,
  GET_SKILL_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  PROTOCOL_VERSIONS,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_SKILLS_EVENT,
  UPDATE_SKILLS_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { createFixture } from "../../support/fixtures/sdk_fixture.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { joinRaw, type RawClient } from "../../support/wire/raw_client.ts";

const PROTOCOLS = ["0.1", "0.2", "0.3", "0.4"] as const;
const SKILLS = [GET_SKILLS_EVENT, GET_SKILL_EVENT, GET_BLOB_EVENT];
const PUT = {
  ...ANY_REQUEST,
  total_size: 1,
  sha256: "0".repeat(64),
  blob: "AA==",
};

const refusalOf = async (client: RawClient, event: string, request: object) => {
  const { code, message } = Object(await client.ask(event, request));
  return [code, message];
};

/** An Agent and a Computer that speak nothing of this package, and another member. */
async function rawOffice(protocol: typeof PROTOCOLS[number]) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({ protocol }));
  const { url } = await server.listen();
  const version = protocol === "0.1" ? null : PROTOCOL_VERSIONS[protocol];
  const join = async (role: "agent" | "computer", name: string) =>
    stack.use(await joinRaw({ url, version }, role, name, "office"));
  const agent = await join("agent", "agent");
  const computer = await join("computer", "computer");
  await agent.next("notify:enter_office");
  const other = await join("computer", "other");
  for (const each of [agent, computer]) await each.next("notify:enter_office");
  return {
    url,
    agent,
    computer,
    other,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

for (const protocol of PROTOCOLS) {
  const knows = protocol !== "0.1";

  Deno.test(`a server of ${protocol} ${knows ? "routes" : "does not know"} skills and blobs, as bytes (0.4 §5, §16)`, async () => {
    await using office = await rawOffice(protocol);
    const { agent, computer } = office;
    for (const event of [...SKILLS, PUT_BLOB_EVENT]) {
      const request = event === PUT_BLOB_EVENT ? PUT : ANY_REQUEST;
      const answer = { event, odd: [null, "é"], req_id: "r1" };
      const seen: unknown[] = [];
      computer.handle(event, (payload, ack) => {
        seen.push(payload);
        ack(answer);
      });
      if (!knows || event === PUT_BLOB_EVENT && protocol !== "0.4") {
        assertEquals(await refusalOf(agent, event, request), [
          400,
          `Unknown event "${event}"`,
        ]);
        assertEquals(seen, []);
        continue;
      }
      assertEquals(await agent.ask(event, request), answer);
      assertEquals(seen, [request]);
      const error = { code: 4018, message: "x", details: { reason: "gone" } };
      computer.handle(event, (_payload, ack) => ack(error));
      assertEquals(await agent.ask(event, request), error);
    }
  });

  Deno.test(`a server of ${protocol} ${knows ? "broadcasts" : "does not know"} update_skills (0.4 §5)`, async () => {
    await using office = await rawOffice(protocol);
    const { agent, computer, other } = office;
    const update = { computer: "computer" };
    const [ack] = await computer.request(UPDATE_SKILLS_EVENT, update);
    assertEquals(Object(ack).code, knows ? undefined : 400);
    await agent.request("notify:barrier");
    await other.request("notify:barrier");
    const heard = [{ event: UPDATE_SKILLS_NOTIFICATION, payload: update }];
    assertEquals(agent.heard, knows ? heard : []);
    assertEquals(other.heard, knows ? heard : []);
    assertEquals(computer.heard, []);
    if (!knows) return;
    for (
      const [client, of] of [[agent, "agent"], [computer, "other"]] as const
    ) {
      const [code] = await refusalOf(client, UPDATE_SKILLS_EVENT, {
        computer: of,
      });
      assertEquals(code, 403);
    }
  });
}

Deno.test("a Computer that leaves the ack of an event empty does not know it: 400, not 500 (0.4 §12)", async () => {
  await using office = await rawOffice("0.4");
  const { agent, computer } = office;
  const events = [
    GET_DPE_EVENT,
    GET_FINDER_EVENT,
    READ_RESOURCE_EVENT,
    GET_PROMPTS_EVENT,
    ...SKILLS,
    PUT_BLOB_EVENT,
  ];
  for (const event of events) {
    computer.handle(event, (_payload, ack) => ack());
    assertEquals(
      await refusalOf(
        agent,
        event,
        event === PUT_BLOB_EVENT ? PUT : ANY_REQUEST,
      ),
      [400, `The Computer does not know ${event}`],
    );
  }
  // These are known to every Computer: leaving them empty is its failure.
  for (const event of [GET_TOOLS_EVENT, TOOL_CALL_EVENT]) {
    computer.handle(event, (_payload, ack) => ack());
    assertEquals((await refusalOf(agent, event, ANY_REQUEST))[0], 500);
  }
});

Deno.test("SmcpComputer writes resources in both spellings (0.4 §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const resource = {
    uri: "a://b",
    name: "b",
    mimeType: "text/plain",
    annotations: { lastModified: "2026-11-22T00:00:00Z" },
  };
  const fixture = createFixture({ resourceList: [resource] });
  await using computer = new SmcpComputer({
    url,
    name: "pc",
    servers: { files: { type: "in-process", server: fixture } },
  });
  await computer.connect();
  await computer.join("office");
  await computer.serversSettled();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  const request = { ...ANY_REQUEST, computer: "pc" };
  assertEquals(await agent.ask("client:get_resources", request), {
    resources: [{
      ...resource,
      mime_type: "text/plain",
      annotations: {
        ...resource.annotations,
        last_modified: "2026-11-22T00:00:00Z",
      },
    }],
    req_id: "r1",
  });
});

Deno.test("SmcpAgent reads resources in the spelling of either SDK (0.4 §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "pc", "office");
  computer.handle("client:get_resources", (payload, ack) =>
    ack({
      req_id: Object(payload).req_id,
      resources: [{
        uri: "a://b",
        mime_type: "text/plain",
        annotations: { priority: 1, last_modified: "2026-11-22T00:00:00Z" },
      }],
    }));
  await using agent = new SmcpAgent({ url, name: "agent" });
  await agent.connect();
  await agent.join("office");
  const { resources } = await agent.getResources("pc", "files");
  assertEquals(resources, [{
    uri: "a://b",
    mimeType: "text/plain",
    annotations: { priority: 1, lastModified: "2026-11-22T00:00:00Z" },
  }]);
});
