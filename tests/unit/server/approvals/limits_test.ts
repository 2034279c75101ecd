import { assertEquals, assertMatch } from "@std/assert";
import { Payload } from "../../../../server/shared/payload.ts";
import {
  deviceOffice,
  PHONE,
  sendDevice,
  type Sent,
  TABLET,
} from "../../../support/approvals/plain_devices.ts";
import { OFFICE } from "../../../support/server/plain_offices.ts";

Deno.test("a device has two requests at a time and 30 in 10 s, a Computer 16 at a time; others are not held up", () => {
  const many = Array.from({ length: 9 }, (_, i) => ({
    id: `d${i}`,
    verifier: `${i}`.repeat(43),
  }));
  const { plain, computer } = deviceOffice(many);
  const retryOf = ({ acks }: Sent) => Object(acks[0]).details?.retry_in_ms;
  const open = many.slice(0, 8).flatMap(({ verifier }) => [
    sendDevice(plain, verifier),
    sendDevice(plain, verifier),
  ]);
  assertEquals(open.flatMap(({ acks }) => acks), []);
  assertEquals(retryOf(sendDevice(plain, many[0]!.verifier)), 1_000);
  assertEquals(
    retryOf(sendDevice(plain, many[8]!.verifier)),
    1_000,
    "the 17th",
  );
  for (const each of computer.asked.splice(0)) {
    each.answer({ body: "", req_id: "r" });
  }
  plain.advance(10_000);
  const { verifier } = many[8]!;
  for (let i = 0; i < 30; i++) {
    const sent = sendDevice(plain, verifier);
    computer.asked.pop()?.answer({ body: "", req_id: "r" });
    assertEquals(Object(sent.acks[0]).body, "", `${i}`);
    plain.advance(100);
  }
  assertEquals(retryOf(sendDevice(plain, verifier)), 7_000);
  assertEquals(sendDevice(plain, many[0]!.verifier).acks, []);
  plain.advance(7_000);
  assertEquals(sendDevice(plain, verifier).acks, []);
});

Deno.test("a Computer that answers nothing in 30 s is 408, and one that answers something else 500", () => {
  const { plain, computer } = deviceOffice();
  const poll = sendDevice(plain, PHONE.verifier);
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
    const { acks } = sendDevice(plain, PHONE.verifier);
    computer.asked.at(-1)?.answer(answer);
    assertEquals(Object(acks[0]).code, 500, String(answer));
    assertEquals(acks.length, 1);
    plain.advance(1_000);
  }
});

Deno.test("the audit log has at most one line a device and minute: who and how much, never a token or a body", () => {
  const { plain, computer } = deviceOffice();
  const once = (verifier: string) => {
    sendDevice(plain, verifier, { body: "c2VjcmV0IQ==" });
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
