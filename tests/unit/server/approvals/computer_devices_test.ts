import { assertEquals, assertMatch } from "@std/assert";
import { ComputerDevices } from "../../../../server/approvals/computer_devices.ts";
import { hiddenPeer, type Seat } from "../../../../server/office/peer.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import {
  OFFICE,
  type PlainClient,
  type PlainOffices,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const JOIN = "server:join_office";
const UPDATE = "server:update_devices";
const DEVICE = "client:device";

const PHONE = { id: "phone", verifier: "p".repeat(43) };
const TABLET = { id: "tablet", verifier: "t".repeat(43) };
const NOT_FOUND = { code: 404, message: "Not found" };

/** What a device sends, and what became of it. */
interface Sent {
  readonly seat: Seat;
  /** All acks so far. */
  readonly acks: unknown[];
}

/** Offices with approvals, and a Computer in one. */
function office(devices = [PHONE, TABLET], host?: string) {
  const plain = plainOffices({
    devicesOf: (parts) => (computer) =>
      new ComputerDevices(computer, parts, host),
  });
  const agent = plain.join("agent", "planner");
  const computer = plain.connect();
  const joined = { role: "computer", name: "laptop", office_id: OFFICE };
  const [ack] = computer.send(JOIN, { ...joined, devices });
  assertEquals(ack, [true, null]);
  agent.take();
  return { plain, agent, computer };
}

/** Sends what a device sends, as the Server does for it. */
function send(
  plain: PlainOffices,
  verifier: string,
  { computer = "laptop", office = OFFICE, body = "AAAA", req_id = "r" } = {},
): Sent {
  const wanted = { role: "device", name: "device", office } as const;
  const seat = plain.offices.join(hiddenPeer("device", "10.0.0.9"), wanted);
  if ("refused" in seat) throw new Error(seat.refused);
  const acks: unknown[] = [];
  const request = { computer, verifier, body, req_id };
  seat.receive(
    DEVICE,
    Payload.of(request),
    (answer) => acks.push(answer instanceof Payload ? answer.parse() : answer),
  );
  return { seat, acks };
}

const asked = ({ asked }: PlainClient) => asked.map(({ payload }) => payload);

Deno.test("a device's bytes go to its Computer with its id, and the answer back (protocol §17)", () => {
  const { plain, agent, computer } = office();
  const { seat, acks } = send(plain, TABLET.verifier, { body: "aGVsbG8=" });
  assertEquals(computer.asked.map(({ event }) => event), [DEVICE]);
  assertEquals(asked(computer), [{
    agent: "device",
    req_id: "r",
    computer: "laptop",
    device: "tablet",
    body: "aGVsbG8=",
  }]);
  assertEquals(acks, []);
  computer.asked[0]?.answer({ body: "eWVz", req_id: "r" });
  seat.gone();
  assertEquals(acks, [{ body: "eWVz", req_id: "r" }]);
  assertEquals([agent.take(), plain.deadlines.size], [[], 0]);
});

Deno.test("threat 34: an unknown office, Computer and token get one and the same answer, and the Computer nothing (protocol §17)", () => {
  const { plain, computer } = office();
  plain.join("computer", "bare");
  const wrong = [
    send(plain, "x".repeat(43)),
    send(plain, ""),
    send(plain, "__proto__"),
    send(plain, PHONE.id),
    send(plain, PHONE.verifier, { computer: "desktop" }),
    send(plain, PHONE.verifier, { computer: "planner" }),
    send(plain, PHONE.verifier, { computer: "bare" }),
    send(plain, PHONE.verifier, { office: "south" }),
  ];
  for (const { acks, seat } of wrong) {
    assertEquals(acks, [NOT_FOUND]);
    seat.gone();
  }
  assertEquals(asked(computer), []);
  assertEquals(plain.offices.find("south"), undefined);
});

Deno.test("threat 10: no member may send client:device, and nobody sees devices or their questions (protocol §17)", () => {
  const { plain, agent, computer } = office();
  const other = plain.join("computer", "other");
  const outsider = plain.connect();
  const body = { agent: "planner", req_id: "r", computer: "laptop" };
  const forged = { ...body, device: "phone", verifier: PHONE.verifier };
  for (const client of [agent, computer, other, outsider]) {
    client.take();
    const [[answer] = []] = client.send(DEVICE, { ...forged, body: "AAAA" });
    assertEquals(answer, {
      code: 400,
      message: 'Unknown event "client:device"',
    });
  }
  // The seat of an Agent or an operator does not pass it on either.
  const operator = { role: "operator", name: "ops", office: OFFICE } as const;
  const seat = plain.offices.join(hiddenPeer("ops"), operator) as Seat;
  const acks: unknown[] = [];
  for (const each of [seat, agent.connection.held!.seat]) {
    each.receive(
      DEVICE,
      Payload.of({ ...forged, body: "" }),
      (answer) => acks.push(Object(answer).parse().code),
    );
  }
  assertEquals(acks, [400, 400]);
  // A device sees and may do nothing else.
  const phone = send(plain, PHONE.verifier);
  const seen: unknown[] = [];
  for (
    const event of [
      "server:list_room",
      "client:get_tools",
      "server:tool_call_cancel",
      UPDATE,
      "server:update_config",
    ] as const
  ) {
    const request = { ...body, office_id: OFFICE, devices: [] };
    phone.seat.receive(
      event,
      Payload.of(request),
      (answer) => seen.push(Object(answer).parse().code),
    );
  }
  assertEquals(seen, [403, 403, 403, 403, 403]);
  const [[list] = []] = agent.send("server:list_room", {
    ...body,
    office_id: OFFICE,
  });
  const text = JSON.stringify(list);
  for (const hidden of ["device", "phone", PHONE.verifier]) {
    assertEquals(text.includes(hidden), false, hidden);
  }
  for (const client of [agent, computer, other]) {
    assertEquals(client.take(), []);
  }
  assertEquals(asked(other), []);
  assertEquals(asked(computer).length, 1);
  assertEquals(plain.observed, [], "operators see no request of a device");
});

Deno.test("server:update_devices replaces the devices; requests of those that are gone end (protocol §17)", () => {
  const { plain, agent, computer } = office([PHONE], "approve.example.com");
  const poll = send(plain, PHONE.verifier);
  const update = (devices: object[], name = "laptop") =>
    computer.send(UPDATE, { computer: name, devices })[0]?.[0];
  const host = "approve.example.com";
  assertEquals(update([PHONE, TABLET]), { devices: 2, host });
  assertEquals(poll.acks, []);
  const other = send(plain, TABLET.verifier);
  assertEquals(update([TABLET]), { devices: 1, host });
  assertEquals([poll.acks, other.acks], [[NOT_FOUND], []]);
  assertEquals(computer.asked.map(({ isForgotten }) => isForgotten), [
    true,
    false,
  ]);
  assertEquals(send(plain, PHONE.verifier).acks, [NOT_FOUND]);
  // A new token of the same device: what it has sent goes on.
  assertEquals(update([{ ...TABLET, verifier: "n".repeat(43) }]), {
    devices: 1,
    host,
  });
  assertEquals(other.acks, []);
  assertEquals(send(plain, TABLET.verifier).acks, [NOT_FOUND]);
  assertEquals(send(plain, "n".repeat(43)).acks, []);
  assertEquals(Object(update([], "desktop")).code, 403);
  const [[answer] = []] = agent.send(UPDATE, {
    computer: "laptop",
    devices: [],
  });
  assertEquals(Object(answer).code, 403);
});

Deno.test("a Server without approvals ignores devices, and answers server:update_devices as an unknown event (protocol §17)", () => {
  const plain = plainOffices();
  const computer = plain.connect();
  const joined = { role: "computer", name: "laptop", office_id: OFFICE };
  const [ack] = computer.send(JOIN, { ...joined, devices: [PHONE] });
  assertEquals(ack, [true, null]);
  assertEquals(computer.send(UPDATE, { computer: "laptop", devices: [] }), [[{
    code: 400,
    message: 'Unknown event "server:update_devices"',
  }]]);
  assertEquals(send(plain, PHONE.verifier).acks, [NOT_FOUND]);
});

Deno.test("devices are forgotten with the seat, and what waits ends; a Computer that rejoins gives them again (protocol §17)", () => {
  const { plain, computer } = office();
  const poll = send(plain, PHONE.verifier);
  computer.vanish();
  assertEquals(poll.acks, [NOT_FOUND]);
  assertEquals(send(plain, PHONE.verifier).acks, [NOT_FOUND]);
  const again = plain.connect();
  const joined = { role: "computer", name: "laptop", office_id: OFFICE };
  again.send(JOIN, { ...joined, devices: [PHONE] });
  assertEquals(send(plain, PHONE.verifier).acks, []);
  assertEquals(asked(again).length, 1);
  again.send(JOIN, { ...joined, office_id: "south" });
  assertEquals(send(plain, PHONE.verifier).acks, [NOT_FOUND]);
});

Deno.test("a device that is gone ends its request at the Computer; its answer counts no more", () => {
  const { plain, computer } = office();
  const poll = send(plain, PHONE.verifier);
  poll.seat.gone();
  assertEquals(computer.asked[0]?.isForgotten, true);
  assertEquals([poll.acks, plain.deadlines.size], [[], 0]);
});

Deno.test("a device has two requests at a time and 30 in 10 s, a Computer 16 at a time; others are not held up", () => {
  const many = Array.from({ length: 9 }, (_, i) => ({
    id: `d${i}`,
    verifier: `${i}`.repeat(43),
  }));
  const { plain, computer } = office(many);
  const retryOf = ({ acks }: Sent) => Object(acks[0]).details?.retry_in_ms;
  const open = many.slice(0, 8).flatMap(({ verifier }) => [
    send(plain, verifier),
    send(plain, verifier),
  ]);
  assertEquals(open.flatMap(({ acks }) => acks), []);
  assertEquals(retryOf(send(plain, many[0]!.verifier)), 1_000);
  assertEquals(retryOf(send(plain, many[8]!.verifier)), 1_000, "the 17th");
  for (const each of computer.asked.splice(0)) {
    each.answer({ body: "", req_id: "r" });
  }
  plain.advance(10_000);
  const { verifier } = many[8]!;
  for (let i = 0; i < 30; i++) {
    const sent = send(plain, verifier);
    computer.asked.pop()?.answer({ body: "", req_id: "r" });
    assertEquals(Object(sent.acks[0]).body, "", `${i}`);
    plain.advance(100);
  }
  assertEquals(retryOf(send(plain, verifier)), 7_000);
  assertEquals(send(plain, many[0]!.verifier).acks, []);
  plain.advance(7_000);
  assertEquals(send(plain, verifier).acks, []);
});

Deno.test("a Computer that answers nothing in 30 s is 408, and one that answers something else 500", () => {
  const { plain, computer } = office();
  const poll = send(plain, PHONE.verifier);
  plain.advance(29_999);
  assertEquals(poll.acks, []);
  plain.advance(1);
  assertEquals(Object(poll.acks[0]).code, 408);
  for (
    const answer of [
      undefined,
      "eWVz",
      {},
      { body: 1, req_id: "r" },
      { body: "no base64", req_id: "r" },
      { body: "A".repeat(699_056), req_id: "r" },
      { code: 404, message: "of its own" },
      { code: 4103, message: "of its own" },
      Payload.unread(1_000_000),
    ]
  ) {
    const { acks } = send(plain, PHONE.verifier);
    computer.asked.at(-1)?.answer(answer);
    assertEquals(Object(acks[0]).code, 500, String(answer));
    assertEquals(acks.length, 1);
    plain.advance(1_000);
  }
});

Deno.test("the audit log has at most one line a device and minute: who and how much, never a token or a body", () => {
  const { plain, computer } = office();
  const once = (verifier: string) => {
    send(plain, verifier, { body: "c2VjcmV0IQ==" });
    plain.advance(40);
    computer.asked.pop()?.answer({ body: "c2VjcmV0", req_id: "r" });
  };
  const lines = () =>
    plain.audit.splice(0).filter(({ event }) => event === "device_asked");
  lines();
  once(PHONE.verifier);
  const line = {
    event: "device_asked",
    office: OFFICE,
    computer: "laptop",
    device: "phone",
    bytes: 13,
    ms: 40,
  };
  assertEquals<unknown>(lines(), [line]);
  for (let i = 0; i < 5; i++) once(PHONE.verifier);
  once(TABLET.verifier);
  assertEquals<unknown>(lines(), [{ ...line, device: "tablet" }]);
  plain.advance(60_000);
  once(PHONE.verifier);
  const all = lines();
  assertEquals<unknown>(all, [{ ...line, omitted: 5 }]);
  assertMatch(JSON.stringify(all), /^(?!.*(c2Vj|ppp|ttt)).*$/);
});
