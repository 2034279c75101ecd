import { assertEquals } from "@std/assert";
import { CallLog, clip } from "../../../computer/cli/ui/call_log.ts";
import { Changes } from "../../../computer/cli/ui/change_feed.ts";
import { clientAddress } from "../../../server/limits/limits.ts";
import { copyOf } from "../../../shared/bytes.ts";
import { memoryHeld } from "../../support/server/memory.ts";

const MEBIBYTE = 2 ** 20;
const COUNT = 20;

Deno.test("copyOf() returns the same text, also one that is no well-formed Unicode", () => {
  for (const text of ["", "a", "名\u0000\u2028", "\ud800x", "x\udfff", "😀"]) {
    assertEquals(copyOf(text), text);
  }
});

/** What makes something that is kept of a message. */
const KEEPERS: Readonly<Record<string, (message: string) => unknown>> = {
  "a part that was copied": (message) => copyOf(message.slice(10, 90)),
  "a value that JSON.parse() made": (message) =>
    JSON.parse(JSON.stringify([message, message.slice(0, 90)]))[1],
  "the address in a header": (message) =>
    clientAddress("", `${message}, 203.0.113.100`, 1),
  "a result of which a Computer's page keeps a part": (message) =>
    clip({ content: [{ type: "text", text: message }] }, 100),
  "the names in a call of which a Computer's page keeps a part": (message) => {
    const calls = new CallLog(new Changes());
    calls.began({
      agent: message,
      tool: message,
      reqId: "1",
      params: {},
    });
    calls.ended({ agent: message, tool: message, reqId: "1", durationMs: 1 });
    return calls.since(0);
  },
};

Deno.test("what is kept of a message does not hold the message", () => {
  const holders: string[] = [];
  for (const [what, keep] of Object.entries(KEEPERS)) {
    const kept: unknown[] = [];
    const before = memoryHeld();
    for (let i = 0; i < COUNT; i++) {
      // Of one piece, as a message is.
      kept.push(
        keep(JSON.parse(JSON.stringify(`${i}${"x".repeat(MEBIBYTE)}`))),
      );
    }
    const held = (memoryHeld() - before) / MEBIBYTE;
    assertEquals(kept.length, COUNT);
    if (held > COUNT / 4) holders.push(`${what}: ${held.toFixed(1)} MiB`);
  }
  assertEquals(holders, []);
});
