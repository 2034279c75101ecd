import { assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  isClientEvent,
  isServerEvent,
  namesOf,
  PROFILES,
  type ProtocolName,
  SERVER_EVENTS,
} from "../../../../protocol/mod.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const VERSIONS = Object.keys(PROFILES) as ProtocolName[];
const REQUEST = { ...ANY_REQUEST, office_id: "north" };
const PUT = { ...ANY_REQUEST, total_size: 1, sha256: "0".repeat(64) };
const requestOf = (event: string) =>
  event === "client:put_blob" ? PUT : REQUEST;

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
    Deno.test(`an Agent of ${one} and a Computer of ${other} share an office: every event that both have (protocol §14)`, () => {
      const { agent, computer } = pair(one, other);
      const own = PROFILES[one];
      const theirs = PROFILES[other];
      const unknown = (event: string) => ({
        code: 400,
        message: `Unknown event "${event}"`,
      });
      for (const event of Object.keys(CLIENT_EVENTS).filter(isClientEvent)) {
        const request = Payload.of(requestOf(event));
        const answer = Payload.of({ req_id: "r1", mcp_server: "x" });
        const answers: Payload[] = [];
        agent.connection.receive(event, request, (got) => {
          answers.push(got as Payload);
        });
        const asked = computer.asked.splice(0);
        asked[0]?.answer(answer);
        const isSent = !own.lacks.includes(event) &&
          !theirs.lacks.includes(event);
        assertEquals(
          asked.map((
            { event, isForgotten },
            at,
          ) => [event, isForgotten || !at]),
          isSent ? namesOf(theirs, event).map((name) => [name, true]) : [],
        );
        assertEquals(answers.map((each) => each.parse()), [
          own.lacks.includes(event)
            ? unknown(event)
            : theirs.lacks.includes(event)
            ? {
              computer: "computer",
              code: 400,
              message:
                `computer speaks A2C-SMCP ${other}, which has no ${event}`,
            }
            : answer.parse(),
        ]);
        if (!isSent) continue;
        assertEquals(asked[0]?.payload, request.parse());
        // Where nothing is translated, the objects pass as they came.
        const isSame = [asked[0]?.raw === request, answers[0] === answer];
        if (event === "client:tool_call" || one === other) {
          assertEquals(isSame, [true, true]);
        }
      }
      for (const event of Object.keys(SERVER_EVENTS).filter(isServerEvent)) {
        const { from, notification } = SERVER_EVENTS[event];
        if (from !== "computer" || !notification) continue;
        const acks = computer.send(event, { computer: "computer" });
        const isSent = !theirs.lacks.includes(event);
        assertEquals(acks, isSent ? [[]] : [[unknown(event)]]);
        const isHeard = isSent && !own.lacks.includes(notification);
        assertEquals(
          agent.take().map(({ event }) => event),
          isHeard ? [...namesOf(own, notification)] : [],
        );
      }
    });
  }
}

Deno.test("notices reach each member under the names of its version, or not at all where that lacks them (protocol §12)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent", { protocol: "0.1" });
  const sender = plain.join("computer", "pc", { protocol: "0.4" });
  const newer = plain.join("computer", "newer", { protocol: "0.3" });
  const old = plain.join("computer", "old", { protocol: "0.1" });
  const rows: [from: typeof agent, event: string, string[][]][] = [
    [sender, "server:update_config", [
      ["notify:update_config", "notify:update_mcp_config"],
      ["notify:update_config"],
    ]],
    [sender, "server:update_skills", [[], ["notify:update_skills"]]],
    [sender, "server:update_resources", [[], ["notify:update_resources"]]],
    // The older names are taken from a Computer of 0.1 as well.
    [old, "server:desktop_refresh", [
      ["notify:update_desktop", "notify:desktop_refresh"],
      ["notify:update_desktop"],
    ]],
  ];
  for (const [from, event, names] of rows) {
    for (const each of [agent, newer]) each.take();
    from.send(event, { computer: from === old ? "old" : "pc" });
    const heard = [agent, newer].map((each) =>
      each.take().map(({ event }) => event)
    );
    assertEquals(heard, names, event);
  }
});

Deno.test("an Agent of 0.1 gets no progress, and no a2c_version in list_room; others get that of each member (protocol §12)", () => {
  for (const protocol of ["0.1", "0.4"] as const) {
    const { plain, agent, computer } = pair(protocol, "0.3");
    plain.join("computer", "old", { protocol: "0.1" });
    agent.take();
    const [[list] = []] = agent.send("server:list_room", REQUEST);
    const versions = Object(list).sessions
      .map((each: { a2c_version?: string }) => each.a2c_version);
    const isOld = protocol === "0.1";
    assertEquals(
      versions,
      isOld ? Array(3).fill(undefined) : ["0.4.0", "0.3.1", "0.1.2"],
    );
    agent.send("client:tool_call", { ...REQUEST, progress: true });
    computer.send("server:tool_call_progress", REQUEST);
    assertEquals(agent.take().length, isOld ? 0 : 1);
  }
});

Deno.test("a request under two names: a real answer wins over 400 and an empty ack, at the deadline the best one counts (protocol §12)", () => {
  const bad = { code: 400, message: "no such event" };
  const config = { servers: {} };
  const CURRENT = 0;
  const OLDER = 1;
  /** The answers in their order, and that of the Agent after the last one. */
  const rows: [answers: [name: number, value: unknown][], unknown][] = [
    [[[CURRENT, bad], [OLDER, config]], config],
    [[[OLDER, undefined], [CURRENT, config]], config],
    [[[OLDER, bad], [CURRENT, undefined]], bad],
    [[[CURRENT, bad]], bad],
  ];
  for (const [given, expected] of rows) {
    const { plain, agent, computer } = pair("0.4", "0.1");
    const answers = agent.send("client:get_config", REQUEST);
    for (const [name, value] of given) {
      assertEquals(answers, []);
      computer.asked[name]?.answer(value);
    }
    if (given.length === 1) plain.advance(30_000);
    assertEquals(answers, [[expected]]);
    const isLeft = computer.asked.some((each, name) =>
      !each.isForgotten && !given.some(([answered]) => answered === name)
    );
    assertEquals([isLeft, plain.deadlines.size], [false, 0]);
  }
});

Deno.test("an Agent of 0.4 addresses the MCP servers of a Computer of 0.2 by the ids that it got (protocol §13)", () => {
  const { agent, computer } = pair("0.4", "0.2");
  const ask = (event: string, answer: unknown) => {
    const answers = agent.send(event, { ...REQUEST, mcp_server: "my_files" });
    const { payload, answer: reply } = computer.asked.pop()!;
    reply(answer);
    return [payload.mcp_server, answers[0]?.[0]];
  };
  // Nothing is known yet: the name passes unchanged.
  const [before] = ask("client:get_resources", { resources: [] });
  assertEquals(before, "my_files");
  const tools = [{ name: "read", meta: { a2c_mcp_server: "my files" } }];
  assertEquals(ask("client:get_tools", { tools, req_id: "r1" })[1], {
    tools: [{ ...tools[0], bundle_id: "my_files" }],
    req_id: "r1",
  });
  const failed = { code: 404, message: "no", mcp_server: "my files" };
  assertEquals(ask("client:get_resources", failed), [
    "my files",
    { ...failed, code: 4014, mcp_server: "my_files" },
  ]);
  const update = { computer: "computer", mcp_server: "my files" };
  computer.send("server:update_resources", update);
  assertEquals(agent.take(), [{
    event: "notify:update_resources",
    payload: { ...update, mcp_server: "my_files" },
  }]);
});

Deno.test("an Agent of 0.2 addresses the MCP servers of a Computer of 0.4 by their names; the next one has the ids (protocol §13)", () => {
  const { plain, agent, computer } = pair("0.2", "0.4");
  const server = { name: "My Files", bundle_id: "files", type: "stdio" };
  const config = { servers: { files: server } };
  const asked = (client: typeof agent, mcp_server: string) => {
    client.send("client:get_resources", { ...REQUEST, mcp_server });
    return computer.asked.pop()?.payload.mcp_server;
  };
  const configFor = (client: typeof agent) => {
    const answers = client.send("client:get_config", REQUEST);
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
  assertEquals(next.send("client:get_skills", REQUEST), []);
});
