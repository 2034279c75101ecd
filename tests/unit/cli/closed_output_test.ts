import { assertEquals } from "@std/assert";
import { isClosedOutput } from "../../../cli/output.ts";

Deno.test("isClosedOutput() goes by the code, whatever the message says", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", ""],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await child.status;
  const writer = child.stdin.getWriter();
  // A process that another test has just begun to start may hold the other end for a moment.
  let error: unknown;
  while (error === undefined) {
    error = await writer.write(new Uint8Array(1)).catch((e: unknown) => e);
  }
  assertEquals(isClosedOutput(error), true, String(error)); // of the system
  const said = new Error("The MCP server wrote: Broken pipe, EPIPE");
  assertEquals(isClosedOutput(said), false);
  assertEquals(isClosedOutput(Object.assign(said, { code: "EIO" })), true);
});
