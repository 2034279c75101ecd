import fc from "fast-check";
import { PROTOCOL_NAMES } from "../../../../protocol/version.ts";
import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  type ClientEvent,
  isClientEvent,
  PROFILES,
  SERVER_EVENTS,
} from "../../../../protocol/mod.ts";
import {
  type Bound,
  isServerEvent,
  MAX_MEMBERS,
  REQUEST_BOUNDS,
  shownBounds,
} from "../../../../protocol/event_table.ts";
import { excessOf } from "../../../../server/office/call.ts";
import { JsonText, readPacket } from "../../../../server/wire/json_text.ts";
import { Payload } from "../../../../server/wire/mod.ts";
import {
  type PlainClient,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const EVENTS = [
  ...Object.keys(CLIENT_EVENTS).filter(isClientEvent),
  ...Object.keys(SERVER_EVENTS).filter(isServerEvent),
];

const REQUEST = {
  agent: "agent",
  req_id: "r",
  computer: "computer",
  tool_name: "t",
  params: {},
  timeout: 9,
};

/** A payload as its client wrote it. */
function written(text: string): JsonText {
  const bytes = Buffer.from(`3/smcp,1[${text}]`);
  const range = { bytes, start: 0, end: bytes.length, ownsBuffer: true };
  const body = readPacket(range, 0, new Map())?.body;
  assert(body instanceof JsonText, text.slice(0, 100));
  return body;
}

/** Sends a payload as it was written; returns the acks. */
function send(client: PlainClient, event: string, payload: Payload) {
  const acks: (readonly unknown[])[] = [];
  client.connection.receive(event, payload, (answer) => {
    if (answer) acks.push(answer instanceof Payload ? [answer] : answer);
  });
  return acks;
}

const parsed = (value: unknown) =>
  value instanceof Payload ? Object(value.parse()) : value;

const textOf = (payload: unknown) => {
  assert(payload instanceof JsonText);
  return payload.text();
};

Deno.test("every event has bounds, of bytes and of values, which a Server shows; none is larger than a message (§10)", () => {
  const shown = shownBounds(1_000_000);
  assertEquals(Object.keys(shown).sort(), EVENTS.toSorted());
  for (const event of EVENTS) {
    const { request, answer } = shown[event]!;
    const bounds = [request, ...(answer ? [answer] : [])];
    assertEquals(bounds.length, isClientEvent(event) ? 2 : 1, event);
    for (const { bytes, values } of bounds) {
      assert(bytes >= 1_000 && bytes <= 1_000_000, event);
      assert(values >= 1_000 && values <= 1_000_000, event);
    }
    if (isClientEvent(event)) continue;
    assertEquals(request, { bytes: 65_536, values: 1_000 }, event);
  }
});

Deno.test("excessOf() lets in what has just its bound of bytes, values and members, and says what is over it (§10)", () => {
  const bound: Bound = { bytes: 4_000, values: 600 };
  const text = (length: number) => written(`{"a":"${"x".repeat(length - 8)}"}`);
  const list = (values: number) =>
    // Two brackets, the colon, and a comma less than numbers.
    written(`{"a":[${Array(values - 2).fill("1").join(",")}]}`);
  const members = (count: number) =>
    written(`{${Array.from({ length: count }, (_, n) => `"${n}":1`)}}`);
  const rows: [payload: Payload, over?: { limit: string; count: number }][] = [
    [text(4_000)],
    [text(4_001), { limit: "bytes", count: 4_001 }],
    [list(600)],
    [list(601), { limit: "values", count: 601 }],
    [members(256)],
    [members(257), { limit: "members", count: 257 }],
    [Payload.unread(4_001), { limit: "bytes", count: 4_001 }],
    [Payload.of({ parsed: "already" })],
  ];
  for (const [payload, over] of rows) {
    const excess = excessOf(bound, payload, MAX_MEMBERS);
    const { limit, count } = excess?.fields ?? {};
    assertEquals(excess && { limit, count }, over);
    const isOfRequests = over?.limit === "members";
    assertEquals(
      excessOf(bound, payload)?.fields.limit,
      isOfRequests ? undefined : over?.limit,
    );
  }
});

Deno.test("an event over its bound is refused in the form of its ack, without being parsed, and nobody gets it (§10)", () => {
  for (const event of EVENTS) {
    const plain = plainOffices();
    const options = { protocol: "0.4" } as const;
    const agent = plain.join("agent", "agent", options);
    const computer = plain.join("computer", "computer", options);
    const other = plain.join("computer", "other", options);
    for (const client of [agent, computer, other]) client.take();
    const { bytes, values } = REQUEST_BOUNDS[event];
    const many = `{"a":[${Array(values).fill("1")}]}`;
    const payloads = [
      written(many),
      written(`{${Array.from({ length: 257 }, (_, n) => `"${n}":1`)}}`),
      ...(bytes < Infinity ? [Payload.unread(bytes + 1)] : []),
    ];
    for (const payload of payloads) {
      payload.parse = () => {
        throw new Error("it was parsed");
      };
      const outsider = plain.connect(options);
      for (const client of [agent, computer, outsider]) {
        const [[first, reason] = []] = send(client, event, payload);
        const isOffice = !isClientEvent(event) &&
          SERVER_EVENTS[event].ack === "office";
        const { code, message = reason } = Object(parsed(first));
        assertEquals(isOffice ? first : code, isOffice ? false : 400, event);
        assert(
          /^Invalid payload: it has \d+ (bytes|values|members), and may/
            .test(String(message)),
          `${event}: ${message}`,
        );
      }
    }
    for (const client of [agent, computer, other]) {
      assertEquals([client.take(), client.asked], [[], []], event);
    }
  }
});

Deno.test("an answer over its bound is 500 in its place, which names the Computer; the next call works (§10)", () => {
  for (const computerVersion of ["0.2", "0.4"] as const) {
    const plain = plainOffices();
    const agent = plain.join("agent", "agent", { protocol: "0.4" });
    const computer = plain.join("computer", "computer", {
      protocol: computerVersion,
    });
    const event = "client:get_tools";
    const ask = (answer: string) => {
      const acks = agent.send(event, REQUEST);
      computer.asked.pop()!.answer(written(answer));
      return acks[0]?.[0];
    };
    assertEquals(ask(`{"tools":[${Array(1_000_000).fill("1")}]}`), {
      code: 500,
      message:
        'Computer "computer" answered too much: its answer to client:get_tools has 1000002 values, and may have at most 1000000',
      computer: "computer",
      limit: "values",
      count: 1_000_002,
      max: 1_000_000,
    });
    assertEquals(ask('{"tools":[]}'), { tools: [] });
    if (computerVersion === "0.4") continue;
    assertEquals(
      Object(ask(`{"tools":[${Array(10_001).fill("{}")}]}`)).message,
      'Computer "computer" answered too much: its answer to client:get_tools has more than 10000 items to translate',
    );
    assertEquals(
      Object(ask(`{"x":"${"x".repeat(2 ** 23 - 20)}","tools":[{}]}`)).message,
      'Computer "computer" answered too much: its answer to client:get_tools would be larger than a message in the Agent\'s version',
    );
  }
});

// ------------------------------------------------------------------ what passes keeps its bytes

/** Members with numbers of any size and form, odd escapes, duplicates and blanks. */
const member = fc.tuple(
  fc.constantFrom("x", "n", "\\u0078", "más", "\\ud800", "a\\/b"),
  fc.constantFrom(
    ...["1234567890123456789", "-0", "1E400", "0.10", "1e-7", "-12.50e+03"],
    ...['"\\ud801"', '"\\u0041 \\/"', "[ 1 ,2.0]", '{"agent":"inner"}', "null"],
  ),
  fc.constantFrom("", " ", "\n\t"),
).map(([name, value, blank]) => `${blank}"${name}"${blank}:${value}${blank}`);

const members = fc.array(member, { maxLength: 5 });

const shuffled = (
  more: readonly string[],
  own: readonly string[],
  at: number,
) => `{${more.toSpliced(at % (more.length + 1), 0, ...own)}}`;

Deno.test("calls and answers keep their bytes between every pair of versions, but for agent and operator: random texts (§5, §14)", () => {
  const pairs = PROTOCOL_NAMES.flatMap((one) =>
    PROTOCOL_NAMES.map((other) => [one, other] as const)
  );
  const check = (more: string[], at: number, claimed: string) => {
    for (const [agentVersion, computerVersion] of pairs) {
      const plain = plainOffices();
      const agent = plain.join("agent", "agent", { protocol: agentVersion });
      const computer = plain.join("computer", "computer", {
        protocol: computerVersion,
      });
      const lacks = new Set<string>([
        ...PROFILES[agentVersion].lacks,
        ...PROFILES[computerVersion].lacks,
      ]);
      const events: ClientEvent[] = [
        "client:tool_call",
        "client:get_desktop",
        "client:get_dpe",
        "client:get_blob",
      ];
      for (const event of events) {
        if (lacks.has(event)) continue;
        const request = (name: string) =>
          shuffled(more, [
            `"agent" : "${name}"`,
            ' "req_id":"r"',
            '"computer":"computer"',
            '"tool_name":"t"',
            '"params":{"big":1234567890123456789}',
            '"timeout":30',
            '"uri":"dpe://h/d","blob_handle":"b"',
          ], at);
        const acks = send(agent, event, written(request(claimed)));
        const asked = computer.asked.pop()!;
        assertEquals(textOf(asked.raw), request("agent"));
        const answer = shuffled(more, [
          '"content":[{"type":"text","text":"\\u0041"}]',
          '"isError":true',
        ], at);
        asked.answer(written(answer));
        assertEquals(textOf(acks[0]?.[0]), answer);
      }
    }
  };
  fc.assert(
    fc.property(
      members,
      fc.nat(),
      fc.constantFrom("agent", "claimed", "clai\\u006ded"),
      check,
    ),
    { numRuns: 60 },
  );
});

Deno.test("operator of any kind, at any place and under any spelling, never passes from an Agent; only the Server writes it (§10)", () => {
  const values = ['"key:x"', "null", "7", "true", '{"name":"x"}', '["x"]'];
  const names = ["operator", "\\u006fperator", "operat\\u006Fr"];
  for (const name of names) {
    for (const value of values) {
      const plain = plainOffices();
      const agent = plain.join("agent", "agent");
      const computer = plain.join("computer", "computer");
      const own = JSON.stringify(REQUEST).slice(1, -1);
      const texts = [
        `{"${name}":${value},${own}}`,
        `{${own} , "${name}" : ${value} }`,
        `{"${name}":${value}, "${name}":"key:y",${own},"${name}":${value}}`,
      ];
      for (const text of texts) {
        send(agent, "client:tool_call", written(text));
        assertEquals(computer.asked.pop()?.payload, REQUEST, text);
      }
    }
  }
});

Deno.test("reports keep the bytes of what they report, without what a Computer adds (§3, §7)", () => {
  const plain = plainOffices();
  const options = { protocol: "0.4" } as const;
  const agent = plain.join("agent", "agent", options);
  const computer = plain.join("computer", "computer", options);
  agent.send("client:tool_call", { ...REQUEST, progress: true });
  agent.take();
  const report = '{"computer":"computer","agent":"agent","req_id":"r",' +
    '"progress":12345678901234567890,"total":1.0,"extra":{},"total":2.50}';
  send(computer, "server:tool_call_progress", written(report));
  assertEquals(agent.take()[0]?.payload, {
    computer: "computer",
    agent: "agent",
    req_id: "r",
    progress: 12345678901234567890,
    total: 2.5,
  });
  const names = ["computer", "progress", "total"];
  assertEquals(
    textOf(written(report).only(names)),
    '{"computer":"computer","progress":12345678901234567890,"total":2.50}',
  );
});
