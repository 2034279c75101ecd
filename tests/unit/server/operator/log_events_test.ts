import { assertEquals } from "@std/assert";
import { captureLog } from "../../../support/log_capture.ts";
import { showLog } from "../../../../server/operator/feed/recorder.ts";
import { log } from "../../../../server/shared/log.ts";

Deno.test("showLog() shows lines with their fields, errors by name and message, nothing of debugging", () => {
  const seen: unknown[] = [];
  const end = showLog((event) => seen.push(event));
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  log.debug("not this");
  log.warn("Unknown event {name}", { name: 'a"b', omitted: 3 });
  log.error("It failed: {error}", { error: new TypeError("why") });
  log.info("Round and {round}", { round: circle });
  log.info("Large", { text: "x".repeat(10_000) });
  end();
  log.warn("nor that");
  assertEquals(seen, [
    {
      event: "log",
      level: "warning",
      message: 'Unknown event "a\\"b"',
      fields: { name: 'a"b', omitted: 3 },
    },
    {
      event: "log",
      level: "error",
      message: 'It failed: "TypeError: why"',
      fields: { error: "TypeError: why" },
    },
    { event: "log", level: "info", message: "Round and {round}" },
    { event: "log", level: "info", message: "Large" },
  ]);
});

Deno.test("showLog() leaves lines of a flood out, and tells how many; the log itself has all", () => {
  using captured = captureLog();
  const seen: { readonly omitted?: number }[] = [];
  const end = showLog((event) => seen.push(event));
  for (let i = 0; i < 1000; i++) log.warn("again");
  end();
  const shown = seen.length;
  const omitted = seen.reduce((all, { omitted = 0 }) => all + omitted, 0);
  assertEquals([shown < 1000, shown + omitted <= 1000], [true, true]);
  const lines = captured.records.filter(({ rawMessage }) =>
    rawMessage === "again"
  );
  assertEquals(lines.length, 1000);
});
