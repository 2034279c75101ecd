import { EventEmitter } from "node:events";
import { assertEquals } from "@std/assert";
import { Payload } from "../../../../server/shared/payload.ts";
import { type ClientSocket, Link } from "../../../../server/wire/mod.ts";

/** A link over a transport that takes what is written. */
function linkTo(written: unknown[]): Link {
  const conn = Object.assign(new EventEmitter(), {
    admit: () => undefined,
    write: (part: unknown) => written.push(part),
  });
  const socket: ClientSocket = Object({ conn });
  return new Link(socket, new Set(), () => {});
}

Deno.test("a notification is encoded once under each name, however many members get it", () => {
  let encoded = 0;
  const payload = Payload.of({
    computer: "pc",
    toJSON() {
      encoded++;
      return { computer: "pc" };
    },
  });
  const written: unknown[] = [];
  const links = Array.from({ length: 1000 }, () => linkTo(written));
  for (const link of links) link.notify("notify:a", payload);
  for (const link of links) link.notify("notify:b", payload);
  // Each encoding reads it twice: once for attachments.
  assertEquals([encoded, written.length], [4, 2000]);
  assertEquals([...new Set(written)], [
    '2/smcp,["notify:a",{"computer":"pc"}]',
    '2/smcp,["notify:b",{"computer":"pc"}]',
  ]);
  links[0]?.end();
  links[0]?.notify("notify:a", payload);
  assertEquals(written.length, 2000);
});
