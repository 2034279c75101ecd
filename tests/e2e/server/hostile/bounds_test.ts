import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  CLIENT_EVENTS,
  isClientEvent,
  PROTOCOL_VERSIONS,
  type ProtocolName,
  type Role,
  SERVER_EVENTS,
} from "../../../../protocol/mod.ts";
import {
  isServerEvent,
  REQUEST_BOUNDS,
} from "../../../../protocol/event_table.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { testBounded } from "../../../support/server/bounded_server.ts";
import {
  connectRaw,
  type RawClient,
} from "../../../support/wire/raw_client.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import { createSmcpServer } from "../../../../server/mod.ts";

const REQUEST = { ...ANY_REQUEST, agent: "agent", computer: "computer" };

/** 7.8 MB: 2.6 million values, which take a second to parse. */
const MANY = `[${"{},".repeat(2_599_999)}{}]`;

/** Connects a client of a version that joins as a member named like its role. */
async function joined(
  url: string,
  role: Role,
  protocol: ProtocolName,
): Promise<RawClient> {
  const version = PROTOCOL_VERSIONS[protocol];
  const client = await connectRaw(url, { version });
  assertEquals(await client.join(role, role, "north"), [true, null]);
  return client;
}

/** An ack, from the text behind its id. */
const ackIn = (frame: string) => JSON.parse(frame.slice(frame.indexOf("[")));

testBounded(
  "30 joins of 7.8 MB by a client in no office are refused unread, each with its reason; calls of others go on (§10)",
  async ({ url, peakMiB }) => {
    await using raw = await RawFrames.open(url, "/smcp");
    const join =
      `{"role":"agent","name":"a","office_id":"north","more":${MANY}}`;
    for (let id = 0; id < 30; id++) {
      raw.send(`42/smcp,${id}["server:join_office",${join}]`);
      const [ok, reason] = ackIn(await raw.frame(`43/smcp,${id}[`));
      assertEquals(ok, false);
      assertMatch(
        reason,
        /^Invalid payload: it has \d+ bytes, and may have at most 65536$/,
      );
    }
    assert(await peakMiB() < 400, `${await peakMiB()} MiB`);
  },
);

testBounded(
  "a Computer of 0.2 whose MCP servers have names of 7 million letters, each time others, costs nothing that stays (§4, §10)",
  async ({ url }) => {
    await using agent = await joined(url, "agent", "0.4");
    await using computer = await joined(url, "computer", "0.2");
    let round = 0;
    const nameOf = (n: number) => `${n}`.padEnd(7_000_000, "x");
    computer.handle(
      "client:get_config",
      (_payload, ack) => ack({ servers: { [nameOf(round)]: { name: "n" } } }),
    );
    // 280 MB of names, with 256 MiB of heap.
    for (; round < 40; round++) {
      const answer = await agent.ask("client:get_config", REQUEST);
      const [name] = Object.keys(Object(answer).servers);
      assertEquals(name?.length, 7_000_000);
      assertEquals(name?.slice(0, 4), nameOf(round).slice(0, 4));
    }
  },
  ["--protocol=all"],
);

testBounded(
  "answers that must be translated for another version are refused when they have too much, and name the Computer (§10, §14)",
  async ({ url }) => {
    await using agent = await joined(url, "agent", "0.4");
    await using computer = await joined(url, "computer", "0.2");
    const rows: [event: string, answer: object, why: RegExp][] = [
      [
        "client:get_tools",
        { tools: JSON.parse(MANY) },
        /get_tools has \d+ values, and may have at most 1000000$/,
      ],
      [
        "client:get_tools",
        { tools: Array(20_000).fill({}) },
        /get_tools has more than 10000 items to translate$/,
      ],
      [
        "client:get_config",
        {
          servers: Object.fromEntries(
            Array.from({ length: 500_000 }, (_, n) => [`s${n}`, {}]),
          ),
        },
        /get_config has \d+ values, and may have at most 100000$/,
      ],
    ];
    for (const [event, answer, why] of rows) {
      computer.handle(event, (_payload, ack) => ack(answer));
      const refused = await agent.ask(event, REQUEST);
      const { code, computer: name, message } = Object(refused);
      assertEquals([code, name], [500, "computer"]);
      assertMatch(message, /^Computer "computer" answered too much: /);
      assertMatch(message, why);
    }
    computer.handle("client:get_tools", (_payload, ack) => ack({ tools: [] }));
    assertEquals(await agent.ask("client:get_tools", REQUEST), { tools: [] });
  },
  ["--protocol=all"],
);

Deno.test("every event over its bound gets its ack, over WebSocket and polling, and the connection stays; so does one that no version has (§10)", async () => {
  await using server = createSmcpServer({ protocol: "all" });
  const { url } = await server.listen({ port: 0 });
  const version = PROTOCOL_VERSIONS["0.4"];
  for (const transport of ["websocket", "polling"] as const) {
    await using client = await connectRaw(url, {
      transports: [transport],
      version,
    });
    const office = transport;
    assertEquals(await client.join("agent", "agent", office), [true, null]);
    const events = [
      ...Object.keys(CLIENT_EVENTS).filter(isClientEvent),
      ...Object.keys(SERVER_EVENTS).filter(isServerEvent),
    ];
    for (const event of events) {
      const { bytes, values } = REQUEST_BOUNDS[event];
      const large = bytes < Infinity
        ? { ...REQUEST, more: "x".repeat(bytes) }
        : { ...REQUEST, more: Array(values).fill(1) };
      const [first, reason] = await client.request(event, large);
      const message = first === false ? reason : Object(first).message;
      assertMatch(
        String(message),
        /^Invalid payload: it has \d+ (bytes|values)/,
      );
      if (first !== false) assertEquals(Object(first).code, 400, event);
    }
    const unknown = { more: "x".repeat(100_000) };
    assertEquals(
      await client.ask("client:made_up", unknown),
      { code: 400, message: 'Unknown event "client:made_up"' },
    );
    assertEquals(await client.request("notify:made_up", unknown), []);
    const { sessions } = Object(
      await client.ask("server:list_room", { ...REQUEST, office_id: office }),
    );
    assertEquals(sessions.length, 1);
  }
});

Deno.test("/health shows the bounds of every event, within the limit of a message (§10)", async () => {
  await using server = createSmcpServer({ maxMessageBytes: 1_000_000 });
  const { url } = await server.listen({ port: 0 });
  const { limits } = await (await fetch(`${url}/health`)).json();
  assertEquals(limits.message_bytes, 1_000_000);
  assertEquals(
    Object.keys(limits.events).sort(),
    [...Object.keys(CLIENT_EVENTS), ...Object.keys(SERVER_EVENTS)].sort(),
  );
  assertEquals(limits.events["client:get_tools"], {
    request: { bytes: 65_536, values: 1_000 },
    answer: { bytes: 1_000_000, values: 1_000_000 },
  });
  assertEquals(limits.events["server:join_office"], {
    request: { bytes: 65_536, values: 1_000 },
  });
});
