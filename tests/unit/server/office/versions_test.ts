import { assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  GET_CONFIG_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  LIST_ROOM_EVENT,
  namesOf,
  PROFILES,
  type ProtocolName,
  PUT_BLOB_EVENT,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_RESOURCES_EVENT,
  UPDATE_RESOURCES_NOTIFICATION,
  UPDATE_SKILLS_EVENT,
} from "../../../../protocol/mod.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const VERSIONS = Object.keys(PROFILES) as ProtocolName[];
const EVENTS = Object.keys(CLIENT_EVENTS).filter(isClientEvent);
const REQUEST = { ...ANY_REQUEST, office_id: "north" };
const PUT = { ...ANY_REQUEST, total_size: 1, sha256: "0".repeat(64) };

function pair(agentVersion: ProtocolName, computerVersion: ProtocolName) {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent", { protocol: agentVersion });
  const computer = plain.join("computer", "computer", {
    protocol: computerVersion,
  });
  agent.take();
  return { plain, agent, computer };
}

for (const one of VERSIONS) {
  for (const other of VERSIONS) {
    Deno.test(`an Agent of ${one} and a Computer of ${other} share an office: every event that both have (0.4 §1.2)`, () => {
      const { agent, computer } = pair(one, other);
      for (const event of EVENTS) {
        const request = event === PUT_BLOB_EVENT ? PUT : REQUEST;
        const answers = agent.send(event, request);
        const asked = computer.asked.splice(0);
        if (PROFILES[one].lacks.includes(event)) {
          assertEquals(answers, [[{
            code: 400,
            message: `Unknown event "${event}"`,
          }]]);
        } else if (PROFILES[other].lacks.includes(event)) {
          assertEquals(answers, [[{
            computer: "computer",
            code: 400,
            message: `computer speaks A2C-SMCP ${other}, which has no ${event}`,
          }]]);
          assertEquals(asked, []);
        } else {
          assertEquals(
            asked.map(({ event }) => event),
            [...namesOf(PROFILES[other], event)],
          );
          assertEquals(asked[0]?.payload, request);
          asked[0]?.answer({ req_id: "r1" });
          assertEquals(answers, [[{ req_id: "r1" }]], event);
          assertEquals(
            asked.every(({ isForgotten }, at) => at === 0 || isForgotten),
            true,
          );
        }
      }
    });
  }
}

Deno.test("the same payload object passes both ways: a tool call between all versions, everything between equal ones", () => {
  for (const one of VERSIONS) {
    for (const other of VERSIONS) {
      const { agent, computer } = pair(one, other);
      const lacks = [...PROFILES[one].lacks, ...PROFILES[other].lacks];
      const events = EVENTS.filter((event) =>
        event === TOOL_CALL_EVENT || one === other && !lacks.includes(event)
      );
      for (const event of events) {
        const request = Payload.of(event === PUT_BLOB_EVENT ? PUT : REQUEST);
        const answer = Payload.of({ content: [], mcp_server: "x" });
        const answers: unknown[] = [];
        agent.connection.receive(event, request, (got) => answers.push(got));
        const [asked] = computer.asked.splice(0);
        asked?.answer(answer);
        assertEquals(
          [asked?.raw === request, answers.length, answers[0] === answer],
          [true, 1, true],
        );
      }
    }
  }
});

Deno.test("notices reach each member under the names of its version, or not at all where that lacks them (spec §12)", () => {
  const plain = plainOffices();
  const agents = plain.join("agent", "agent", { protocol: "0.1" });
  const sender = plain.join("computer", "pc", { protocol: "0.4" });
  const newer = plain.join("computer", "newer", { protocol: "0.3" });
  for (const each of [agents, sender]) each.take();
  sender.send("server:update_config", { computer: "pc" });
  assertEquals(agents.take().map(({ event }) => event), [
    UPDATE_CONFIG_NOTIFICATION,
    "notify:update_mcp_config",
  ]);
  assertEquals(newer.take().map(({ event }) => event), [
    UPDATE_CONFIG_NOTIFICATION,
  ]);
  for (const event of [UPDATE_SKILLS_EVENT, UPDATE_RESOURCES_EVENT]) {
    sender.send(event, { computer: "pc" });
  }
  assertEquals([agents.take(), newer.take().length], [[], 2]);
  // The older names are taken from a Computer of 0.1 as well.
  const old = plain.join("computer", "old", { protocol: "0.1" });
  for (const each of [agents, sender, newer]) each.take();
  old.send("server:desktop_refresh", { computer: "old" });
  assertEquals(sender.take().map(({ event }) => event), [
    "notify:update_desktop",
  ]);
});

Deno.test("an Agent of 0.1 gets no progress, and no a2c_version in list_room; others get that of each member (spec §12)", () => {
  for (const protocol of ["0.1", "0.4"] as const) {
    const { plain, agent, computer } = pair(protocol, "0.3");
    plain.join("computer", "old", { protocol: "0.1" });
    agent.take();
    const [[list] = []] = agent.send(LIST_ROOM_EVENT, REQUEST);
    const versions = Object(list).sessions
      .map((each: { a2c_version?: string }) => each.a2c_version);
    assertEquals(
      versions,
      protocol === "0.1"
        ? [undefined, undefined, undefined]
        : ["0.4.0", "0.3.1", "0.1.2"],
    );
    agent.send(TOOL_CALL_EVENT, { ...REQUEST, progress: true });
    computer.send(TOOL_CALL_PROGRESS_EVENT, REQUEST);
    assertEquals(agent.take().length, protocol === "0.1" ? 0 : 1);
  }
});

Deno.test("a request under two names: a real answer wins over 400 and an empty ack, at the deadline the best one counts (spec §12)", () => {
  const ask = () => {
    const { plain, agent, computer } = pair("0.4", "0.1");
    const answers = agent.send(GET_CONFIG_EVENT, REQUEST);
    const [current, older] = computer.asked;
    return { plain, answers, current: current!, older: older! };
  };
  const bad = { code: 400, message: "no such event" };
  const config = { servers: {} };
  {
    const { answers, current, older } = ask();
    current.answer(bad);
    assertEquals(answers, []);
    older.answer(config);
    assertEquals(answers, [[config]]);
  }
  {
    const { answers, current, older } = ask();
    older.answer(undefined);
    current.answer(config);
    assertEquals([answers, older.isForgotten], [[[config]], true]);
  }
  {
    const { answers, current, older } = ask();
    older.answer(bad);
    current.answer(undefined);
    assertEquals(answers, [[bad]], "an error rather than no answer");
  }
  {
    const { plain, answers, current } = ask();
    current.answer(bad);
    plain.advance(30_000);
    assertEquals(answers, [[bad]]);
    assertEquals(plain.deadlines.size, 0);
  }
});

Deno.test("an Agent of 0.4 addresses the MCP servers of a Computer of 0.2 by the ids that it got (0.4 §3)", () => {
  const { agent, computer } = pair("0.4", "0.2");
  const ask = (event: string, answer: unknown, more: object = {}) => {
    const answers = agent.send(event, { ...REQUEST, ...more });
    const { payload, answer: reply } = computer.asked.pop()!;
    reply(answer);
    return { payload, answer: Object(answers[0]?.[0]) };
  };
  // Nothing is known yet: the name passes unchanged.
  const before = ask(GET_RESOURCES_EVENT, { resources: [] }, {
    mcp_server: "my_files",
  });
  assertEquals(before.payload.mcp_server, "my_files");
  const tools = [{ name: "read", meta: { a2c_mcp_server: "my files" } }];
  assertEquals(ask(GET_TOOLS_EVENT, { tools, req_id: "r1" }).answer, {
    tools: [{ ...tools[0], bundle_id: "my_files" }],
    req_id: "r1",
  });
  const failed = ask(
    GET_RESOURCES_EVENT,
    { code: 404, message: "no", mcp_server: "my files" },
    { mcp_server: "my_files" },
  );
  assertEquals(failed.payload.mcp_server, "my files");
  assertEquals(failed.answer.mcp_server, "my_files");
  const update = { computer: "computer", mcp_server: "my files" };
  computer.send(UPDATE_RESOURCES_EVENT, update);
  assertEquals(agent.take(), [{
    event: UPDATE_RESOURCES_NOTIFICATION,
    payload: { ...update, mcp_server: "my_files" },
  }]);
});

Deno.test("an Agent of 0.2 addresses the MCP servers of a Computer of 0.4 by their names; the next one has the ids (0.4 §3)", () => {
  const { plain, agent, computer } = pair("0.2", "0.4");
  const server = { name: "My Files", bundle_id: "files", type: "stdio" };
  const config = { servers: { files: server } };
  const asked = (client: typeof agent, mcp_server: string) => {
    client.send(GET_RESOURCES_EVENT, { ...REQUEST, mcp_server });
    return computer.asked.pop()?.payload.mcp_server;
  };
  const configFor = (client: typeof agent) => {
    const answers = client.send(GET_CONFIG_EVENT, REQUEST);
    computer.asked.pop()?.answer(config);
    return answers[0]?.[0];
  };
  assertEquals(configFor(agent), { servers: { "My Files": server } });
  assertEquals(asked(agent, "My Files"), "files");
  assertEquals(asked(agent, "files"), "files");
  agent.vanish();
  const next = plain.join("agent", "agent", { protocol: "0.3" });
  assertEquals(configFor(next), config);
  assertEquals(asked(next, "My Files"), "My Files");
  assertEquals(next.send(GET_SKILLS_EVENT, REQUEST), []);
});
