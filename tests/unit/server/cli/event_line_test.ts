import { assertEquals } from "@std/assert";
import { eventLine } from "../../../../server/cli/operate/show.ts";

Deno.test("eventLine() writes an event as one line, whatever its members are called", () => {
  const data = { at: "2026-01-02T03:04:05.678Z", event: "joined" };
  assertEquals(
    eventLine("joined", { ...data, office: "north", role: "computer", ms: 2 }),
    "03:04:05 north joined role=computer ms=2",
  );
  assertEquals(
    eventLine("tls_failed", { ...data, reason: 'no "key"\n\u202e' }),
    '03:04:05 - tls_failed reason="no \\"key\\"\\n\\u{202e}"',
  );
  assertEquals(
    eventLine("joined", { ...data, office: "a\u001b[2Jb" }),
    "03:04:05 a\\u{1b}[2Jb joined",
  );
});
