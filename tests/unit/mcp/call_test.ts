import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Progress, ProgressReporter } from "../../../mcp/office/call.ts";

/** A reporter, and what it has sent. */
function report(everyMs: number) {
  const sent: Progress[] = [];
  let onSent = () => {};
  const reporter = new ProgressReporter({
    computer: "laptop",
    everyMs,
    send: (progress) => {
      sent.push(progress);
      onSent();
    },
  });
  const reached = (count: number) =>
    new Promise<void>((resolve) => {
      onSent = () => sent.length >= count ? resolve() : undefined;
      onSent();
    });
  return { reporter, sent, reached };
}

const isIncreasing = (sent: readonly Progress[]) =>
  sent.every(({ progress }, i) =>
    i === 0 || progress > (sent[i - 1]?.progress ?? Infinity)
  );

Deno.test("ProgressReporter says that the call runs, and where, again and again", async () => {
  const { reporter, sent, reached } = report(1);
  await reached(3);
  reporter.end();
  assertMatch(sent[0]?.message ?? "", /^running for \d+ s on laptop$/);
  assert(isIncreasing(sent));
});

Deno.test("ProgressReporter passes on the tool's own numbers, and signs of life between them stay below the next", async () => {
  const { reporter, sent, reached } = report(1);
  reporter.report({ progress: 0, total: 3 });
  await reached(3);
  reporter.report({ progress: 1, total: 3, message: "half" });
  await reached(sent.length + 1);
  reporter.report({ progress: 2, total: 3 });
  reporter.end();
  assert(isIncreasing(sent));
  assertEquals(
    sent.filter(({ total }) => total === 3).map(({ progress }) => progress),
    [0, 1, 2],
  );
});

Deno.test("ProgressReporter leaves out numbers that do not increase", () => {
  const { reporter, sent } = report(60_000);
  for (const progress of [5, 5, 4, 6, 1e15]) reporter.report({ progress });
  reporter.end();
  assertEquals(sent.map(({ progress }) => progress), [5, 6, 1e15]);
});
