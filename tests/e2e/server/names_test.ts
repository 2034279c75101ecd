import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  CLIENT_EVENTS,
  SERVER_EVENTS,
  type ServerEvent,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { connectRaw, joinRaw, rawPair } from "../../support/wire/raw_client.ts";

/** Names that would be one in UTF-8: halves of surrogate pairs, alone and in the wrong order. */
const LONE = ["\ud800x", "\ud801x", "x\udfff", "\udc00\ud800"];

/** The fields of each event that name an office or a member. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  "server:join_office": ["name", "office_id"],
  "server:leave_office": ["office_id"],
  "server:list_room": ["agent", "office_id"],
};

const fieldsOf = (event: string): readonly string[] =>
  NAMES[event] ?? (event.startsWith("client:") ? ["agent", "computer"] : []);

Deno.test("a name with a lone surrogate is refused in every request, over WebSocket and polling", async () => {
  for (const transport of ["websocket", "polling"] as const) {
    await using server = createSmcpServer({ protocol: "0.4" });
    const { url } = await server.listen({ port: 0 });
    const way = { url, transports: [transport], version: "0.4.0" };
    await using client = await connectRaw(url, way);
    await using computer = await joinRaw(way, "computer", "computer", "office");
    await using agent = await joinRaw(way, "agent", "agent", "office");
    for (const event of ["server:join_office", "server:leave_office"]) {
      for (const field of fieldsOf(event)) {
        for (const lone of LONE) {
          const [ok, reason] = await client.request(event, {
            ...ANY_REQUEST,
            role: "computer",
            name: "pc",
            [field]: lone,
          });
          assert(ok === false && `${reason}`.includes(field), `${reason}`);
        }
      }
    }
    for (const event of [...Object.keys(CLIENT_EVENTS), "server:list_room"]) {
      for (const field of fieldsOf(event)) {
        for (const lone of LONE) {
          const answer = await agent.ask(event, {
            ...ANY_REQUEST,
            [field]: lone,
          });
          const { code, message } = Object(answer);
          assertEquals(code, 400, `${event} ${field}: ${message}`);
          const problem = `${field}: must not contain lone surrogates`;
          assertStringIncludes(message, problem, event);
        }
      }
    }
    // Nobody else has noticed anything.
    assertEquals(server.stats.offices, 1);
    const heard = computer.heard.map(({ event }) => event);
    assertEquals(heard, ["notify:enter_office"]);
  }
});

Deno.test("a report about a name with a lone surrogate reaches nobody", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const reports = (Object.keys(SERVER_EVENTS) as ServerEvent[])
    .filter((event) => SERVER_EVENTS[event].from === "computer");
  for (const event of reports) {
    for (const lone of LONE) {
      computer.socket.emit(event, { ...ANY_REQUEST, computer: lone });
    }
  }
  computer.socket.emit("server:update_config", { computer: "computer" });
  await agent.next("notify:update_config");
  assertEquals(agent.heard, []);
});

Deno.test("a req_id with a lone surrogate stays as it is", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using pair = await rawPair(url);
  pair.computer.handle("client:tool_call", (payload, ack) => {
    const { req_id } = Object(payload);
    ack({ content: [{ type: "text", text: req_id }] });
  });
  for (const req_id of LONE) {
    const answer = await pair.agent.ask("client:tool_call", {
      ...ANY_REQUEST,
      req_id,
    });
    assertEquals(Object(answer).content, [{ type: "text", text: req_id }]);
  }
});

Deno.test("clients refuse a name with a lone surrogate before they send anything, also in process", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  for (const way of [{ url }, { connection: server.connect() }]) {
    await using agent = new SmcpAgent({ ...way, name: "agent" });
    await using computer = new SmcpComputer({
      ...way,
      name: "computer",
      servers: {},
    });
    for (const client of [agent, computer]) {
      await client.connect();
      for (const lone of [...LONE, "", "a\n"]) {
        await assertRejects(
          () => client.join(lone),
          TypeError,
          "Cannot join the office",
        );
      }
      await client.join("north");
    }
    for (const lone of LONE) {
      await assertRejects(
        () => agent.callTool(lone, "echo"),
        Error,
        "computer: must not contain lone surrogates",
      );
    }
  }
});
