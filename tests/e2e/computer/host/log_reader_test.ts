import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";

const FLOOD = fileURLToPath(
  new URL("../../../support/fixtures/log_flood.ts", import.meta.url),
);

const flood = (...args: string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--frozen", FLOOD, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();

Deno.test("a Computer's log that is not read blocks neither its work nor its exit", async () => {
  const child = flood();
  assertEquals(await new Response(child.stdout).text(), "logged\n");
  assertEquals((await child.status).code, 0);
  await child.stderr.cancel();
});

Deno.test("a Computer's log reports dropped lines once it is read again", async () => {
  const child = flood("patient");
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await stdout.read()).value, "logged\n");
  const text = await new Response(child.stderr).text();
  assertEquals((await stdout.read()).done, true);
  await child.status;
  const lines = text.trimEnd().split("\n");
  const [, left] = /^(\d+) lines were left out here/.exec(lines.at(-1) ?? "") ??
    [];
  assertMatch(lines[0] ?? "", /warning 0 /);
  assert(lines.length > 1000 && Number(left) > 0);
  assertEquals(lines.length - 1 + Number(left), 20_000);
});
