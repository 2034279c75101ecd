/** Offices without sockets whose Computers have devices, and what devices send there. */
import { assertEquals } from "@std/assert";
import { ComputerDevices } from "../../../server/approvals/computer_devices.ts";
import { KnownTokens } from "../../../server/approvals/known_tokens.ts";
import { hiddenPeer, type Seat } from "../../../server/office/peer.ts";
import { Payload } from "../../../server/shared/payload.ts";
import {
  OFFICE,
  type PlainClient,
  type PlainOffices,
  plainOffices,
} from "../server/plain_offices.ts";

const JOIN = "server:join_office";
const DEVICE = "client:device";

export const PHONE = { id: "phone", verifier: "p".repeat(43) };
export const TABLET = { id: "tablet", verifier: "t".repeat(43) };
/** The one answer to all that is wrong. */
export const NOT_FOUND = { code: 404, message: "Not found" };

/** What a device sends, and what became of it. */
export interface Sent {
  readonly seat: Seat;
  /** All acks so far. */
  readonly acks: unknown[];
}

/** Offices with approvals, and a Computer in one. */
export function deviceOffice(devices = [PHONE, TABLET], host?: string) {
  const known = new KnownTokens();
  const plain = plainOffices({
    devicesOf: (parts) => (computer) =>
      new ComputerDevices(computer, parts, { host, known }),
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
export function sendDevice(
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

/** The payloads that a Computer got. */
export const askedOf = ({ asked }: PlainClient) =>
  asked.map(({ payload }) => payload);
