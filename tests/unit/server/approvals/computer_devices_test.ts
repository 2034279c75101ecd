import { assertEquals } from "@std/assert";
import { hiddenPeer, type Seat } from "../../../../server/office/peer.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import {
  askedOf,
  deviceOffice,
  NOT_FOUND,
  PHONE,
  sendDevice,
  TABLET,
} from "../../../support/approvals/plain_devices.ts";
import { OFFICE, plainOffices } from "../../../support/server/plain_offices.ts";

const JOIN = "server:join_office";
const UPDATE = "server:update_devices";
const DEVICE = "client:device";

Deno.test("a device's bytes go to its Computer with its id, and the answer back (protocol §17)", () => {
  const { plain, agent, computer } = deviceOffice();
  const { seat, acks } = sendDevice(plain, TABLET.verifier, {
    body: "aGVsbG8=",
  });
  assertEquals(computer.asked.map(({ event }) => event), [DEVICE]);
  assertEquals(askedOf(computer), [{
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
  const { plain, computer } = deviceOffice();
  plain.join("computer", "bare");
  const wrong = [
    sendDevice(plain, "x".repeat(43)),
    sendDevice(plain, ""),
    sendDevice(plain, "__proto__"),
    sendDevice(plain, PHONE.id),
    sendDevice(plain, PHONE.verifier, { computer: "desktop" }),
    sendDevice(plain, PHONE.verifier, { computer: "planner" }),
    sendDevice(plain, PHONE.verifier, { computer: "bare" }),
    sendDevice(plain, PHONE.verifier, { office: "south" }),
  ];
  for (const { acks, seat } of wrong) {
    assertEquals(acks, [NOT_FOUND]);
    seat.gone();
  }
  assertEquals(askedOf(computer), []);
  assertEquals(plain.offices.find("south"), undefined);
});

Deno.test("threat 10: no member may send client:device, and nobody sees devices or their questions (protocol §17)", () => {
  const { plain, agent, computer } = deviceOffice();
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
  const phone = sendDevice(plain, PHONE.verifier);
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
  assertEquals(askedOf(other), []);
  assertEquals(askedOf(computer).length, 1);
  assertEquals(plain.observed, [], "operators see no request of a device");
});

Deno.test("server:update_devices replaces the devices; requests of those that are gone end (protocol §17)", () => {
  const { plain, agent, computer } = deviceOffice(
    [PHONE],
    "approve.example.com",
  );
  const poll = sendDevice(plain, PHONE.verifier);
  const update = (devices: object[], name = "laptop") =>
    computer.send(UPDATE, { computer: name, devices })[0]?.[0];
  const host = "approve.example.com";
  assertEquals(update([PHONE, TABLET]), { devices: 2, host });
  assertEquals(poll.acks, []);
  const other = sendDevice(plain, TABLET.verifier);
  assertEquals(update([TABLET]), { devices: 1, host });
  assertEquals([poll.acks, other.acks], [[NOT_FOUND], []]);
  assertEquals(computer.asked.map(({ isForgotten }) => isForgotten), [
    true,
    false,
  ]);
  assertEquals(sendDevice(plain, PHONE.verifier).acks, [NOT_FOUND]);
  // A new token of the same device: what it has sent goes on.
  assertEquals(update([{ ...TABLET, verifier: "n".repeat(43) }]), {
    devices: 1,
    host,
  });
  assertEquals(other.acks, []);
  assertEquals(sendDevice(plain, TABLET.verifier).acks, [NOT_FOUND]);
  assertEquals(sendDevice(plain, "n".repeat(43)).acks, []);
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
  assertEquals(sendDevice(plain, PHONE.verifier).acks, [NOT_FOUND]);
});

Deno.test("devices are forgotten with the seat, and what waits ends; a Computer that rejoins gives them again (protocol §17)", () => {
  const { plain, computer } = deviceOffice();
  const poll = sendDevice(plain, PHONE.verifier);
  computer.vanish();
  assertEquals(poll.acks, [NOT_FOUND]);
  assertEquals(sendDevice(plain, PHONE.verifier).acks, [NOT_FOUND]);
  const again = plain.connect();
  const joined = { role: "computer", name: "laptop", office_id: OFFICE };
  again.send(JOIN, { ...joined, devices: [PHONE] });
  assertEquals(sendDevice(plain, PHONE.verifier).acks, []);
  assertEquals(askedOf(again).length, 1);
  again.send(JOIN, { ...joined, office_id: "south" });
  assertEquals(sendDevice(plain, PHONE.verifier).acks, [NOT_FOUND]);
});

Deno.test("a device that is gone ends its request at the Computer; its answer counts no more", () => {
  const { plain, computer } = deviceOffice();
  const poll = sendDevice(plain, PHONE.verifier);
  poll.seat.gone();
  assertEquals(computer.asked[0]?.isForgotten, true);
  assertEquals([poll.acks, plain.deadlines.size], [[], 0]);
});
