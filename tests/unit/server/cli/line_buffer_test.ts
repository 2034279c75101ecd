import { assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import { LineBuffer } from "../../../../server/cli/logging.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("LineBuffer writes the lines of a turn together, in order", async () => {
  const written: string[] = [];
  const lines = new LineBuffer((text) => written.push(text));
  lines.add("a\n");
  lines.add("b\n");
  assertEquals(written, []);
  await turn();
  assertEquals(written, ["a\nb\n"]);
  lines.add("c\n");
  lines.flush();
  assertEquals(written, ["a\nb\n", "c\n"]);
  await turn();
  assertEquals(written, ["a\nb\n", "c\n"]);
});

Deno.test("LineBuffer does not let a busy turn fill the memory", async () => {
  const written: number[] = [];
  const lines = new LineBuffer((text) => written.push(text.length));
  const line = `${"x".repeat(999)}\n`;
  for (let i = 0; i < 200; i++) lines.add(line);
  assertEquals(written, [66_000, 66_000, 66_000]);
  await turn();
  assertEquals(written.at(-1), 2000);
});
