/** Every event between an Agent and a Computer of each two versions in one office, on the wire (0.4 §1.2). */
import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  ENTER_OFFICE_NOTIFICATION,
  isClientEvent,
  isServerEvent,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  namesOf,
  type Notification,
  PROFILES,
  PROTOCOL_VERSIONS,
  type ProtocolName,
  PUT_BLOB_EVENT,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  UPDATE_RESOURCES_EVENT,
} from "../../../../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../../../../protocol/version.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { joinRaw, type RawClient } from "../../../support/wire/raw_client.ts";

const PUT = { ...ANY_REQUEST, total_size: 1, sha256: "0".repeat(64) };
const REPORT = { computer: "computer", mcp_server: "files", uri: "x://y" };
const SELF = { office_id: "office", computer: "computer" };

/** A client of a version; that of 0.1 sends none. */
const member = (
  url: string,
  role: "agent" | "computer",
  protocol: ProtocolName,
): Promise<RawClient> =>
  joinRaw(
    {
      url,
      version: PROFILES[protocol].handshake
        ? PROTOCOL_VERSIONS[protocol]
        : null,
    },
    role,
    role,
    "office",
  );

for (const one of PROTOCOL_NAMES) {
  for (const other of PROTOCOL_NAMES) {
    Deno.test(`an Agent of ${one} and a Computer of ${other} in one office: all events, on the wire (0.4 §1.2)`, async () => {
      await using server = createSmcpServer({ protocol: "all" });
      const { url } = await server.listen({ port: 0 });
      await using agent = await member(url, "agent", one);
      await using computer = await member(url, "computer", other);
      await requests({ agent, computer, one, other });
      await notices({ agent, computer, one, other });
      await members({ agent, computer, one, other });
    });
  }
}

interface Pair {
  readonly agent: RawClient;
  readonly computer: RawClient;
  readonly one: ProtocolName;
  readonly other: ProtocolName;
}

/** What an Agent asks reaches the Computer, or is answered with why not. */
async function requests({ agent, computer, one, other }: Pair): Promise<void> {
  for (const event of Object.keys(CLIENT_EVENTS).filter(isClientEvent)) {
    const request = event === PUT_BLOB_EVENT ? PUT : ANY_REQUEST;
    const got: unknown[] = [];
    for (const name of namesOf(PROFILES[other], event)) {
      computer.handle(name, (payload, ack) => {
        got.push(payload);
        ack({ req_id: "r1", of: event });
      });
    }
    for (const name of namesOf(PROFILES[one], event)) {
      const answer = await agent.ask(name, request);
      if (PROFILES[one].lacks.includes(event)) {
        assertEquals(answer, {
          code: 400,
          message: `Unknown event "${event}"`,
        });
      } else if (PROFILES[other].lacks.includes(event)) {
        assertEquals(answer, {
          code: 400,
          message: `computer speaks A2C-SMCP ${other}, which has no ${event}`,
          computer: "computer",
        });
      } else {
        assertEquals(answer, { req_id: "r1", of: event }, name);
        assertEquals(got.shift(), request, name);
      }
    }
  }
}

/** What happens to one member is notified to the other, under the names of its version, if it has that. */
async function notices({ agent, computer, one, other }: Pair): Promise<void> {
  const send = async (from: RawClient, event: string, payload: object) =>
    assertEquals(await from.request(event, payload), [], event);
  agent.heard.length = computer.heard.length = 0;
  const expected: (readonly [string, unknown])[] = [];
  for (const event of Object.keys(SERVER_EVENTS).filter(isServerEvent)) {
    const { notification } = SERVER_EVENTS[event];
    if (!event.startsWith("server:update_") || !notification) continue;
    if (PROFILES[other].lacks.includes(event)) {
      assertEquals(await computer.ask(event, REPORT), {
        code: 400,
        message: `Unknown event "${event}"`,
      });
      continue;
    }
    await send(computer, event, REPORT);
    expected.push(...noticesFor(one, notification, event));
  }
  // Answered after all notifications were sent.
  await agent.ask(LIST_ROOM_EVENT, ANY_REQUEST);
  assertEquals(
    agent.heard.map(({ event, payload }) => [event, payload]),
    expected.map((each) => [...each]),
  );

  const call = { ...ANY_REQUEST, req_id: "r2", progress: true };
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(TOOL_CALL_EVENT, (_, ack) => asked.resolve(ack));
  const result = agent.ask(TOOL_CALL_EVENT, call);
  const answer = await asked.promise;
  const { agent: name, req_id } = call;
  const progress = { ...SELF, agent: name, req_id, progress: 1 };
  const hasProgress = [one, other].every((version) =>
    !PROFILES[version].lacks.includes(TOOL_CALL_PROGRESS_NOTIFICATION)
  );
  agent.heard.length = 0;
  const taken = await computer.request(TOOL_CALL_PROGRESS_EVENT, progress);
  const isUnknown = PROFILES[other].lacks.includes(TOOL_CALL_PROGRESS_EVENT);
  assertEquals(taken.length, isUnknown ? 1 : 0);
  await send(agent, CANCEL_TOOL_CALL_EVENT, { agent: name, req_id });
  assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: name,
    req_id,
  });
  answer({ content: [], isError: true });
  assertEquals(await result, { content: [], isError: true });
  assertEquals(
    agent.heard.some(({ event }) => event === TOOL_CALL_PROGRESS_NOTIFICATION),
    hasProgress,
  );
}

function noticesFor(
  version: ProtocolName,
  notification: Notification,
  event: string,
): (readonly [string, unknown])[] {
  const profile = PROFILES[version];
  if (profile.lacks.includes(notification)) return [];
  const { computer, ...rest } = REPORT;
  const payload = event === UPDATE_RESOURCES_EVENT
    ? { computer, ...rest }
    : { computer };
  return namesOf(profile, notification).map((name) => [name, payload] as const);
}

/** Both see each other, come and go; only members of versions with a handshake see versions. */
async function members({ agent, computer, one, other }: Pair): Promise<void> {
  const { sessions } = Object(await agent.ask(LIST_ROOM_EVENT, ANY_REQUEST));
  const shown = (version: ProtocolName) =>
    PROFILES[one].handshake ? PROTOCOL_VERSIONS[version] : undefined;
  assertEquals(
    sessions.map(({ name, role, a2c_version }: Record<string, unknown>) => [
      name,
      role,
      a2c_version,
    ]),
    [["agent", "agent", shown(one)], ["computer", "computer", shown(other)]],
  );
  await computer.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  assertEquals(await agent.next(LEAVE_OFFICE_NOTIFICATION), SELF);
  await computer.join("computer", "computer", "office");
  assertEquals(await agent.next(ENTER_OFFICE_NOTIFICATION), SELF);
  await agent.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  assertEquals(await computer.next(LEAVE_OFFICE_NOTIFICATION), {
    office_id: "office",
    agent: "agent",
  });
}
