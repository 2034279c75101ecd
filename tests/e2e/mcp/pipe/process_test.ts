import { assertEquals, assertStringIncludes } from "@std/assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { serveOffice } from "../../../support/mcp/office.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";
import { INITIALIZE, LIST_TOOLS } from "../../../support/mcp/raw.ts";

/** The command as a process, with the JSON of its lines. */
function startPipe(url: string | URL, ...flags: string[]) {
  const { command, args } = pipeCommand(url, ...flags);
  const child = spawn(command, args, { stdio: "pipe" });
  let errors = "";
  child.stderr.on("data", (bytes) => errors += bytes);
  child.stdin.on("error", () => {}); // it has ended
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    ended: once(child, "close").then(([code]) => code),
    errors: () => errors,
    ask: async (line: string) => {
      child.stdin.write(`${line}\n`);
      return JSON.parse(String((await lines.next()).value));
    },
  };
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`smcp-agent mcp: ${signal} ends it, and its session`, async () => {
    await using office = await serveOffice({ mcp: { maxSessions: 1 } });
    const pipe = startPipe(office.url);
    const { id, result } = await pipe.ask(INITIALIZE);
    assertEquals([id, result.serverInfo.name], [1, "a2c-smcp"]);
    assertEquals((await pipe.ask(LIST_TOOLS)).id, 2);
    Deno.kill(pipe.child.pid ?? 0, signal); // `kill()` of Deno tells that it was the end of it
    assertEquals(await pipe.ended, 0);
    assertEquals(pipe.errors(), "");
    const next = startPipe(office.url); // there is room for its session
    assertEquals((await next.ask(INITIALIZE)).id, 1);
    next.child.stdin.end();
    assertEquals(await next.ended, 0);
  });
}

Deno.test("smcp-agent mcp: a client that reads no more ends it", async () => {
  await using office = await serveOffice();
  const pipe = startPipe(office.url);
  await pipe.ask(INITIALIZE);
  pipe.child.stdout.destroy();
  // The first answers may still fit into the pipe, which is closed a moment after `destroy()`.
  const asking = setInterval(
    () => pipe.child.stdin.write(`${LIST_TOOLS}\n`),
    50,
  );
  try {
    assertEquals(await pipe.ended, 0);
  } finally {
    clearInterval(asking);
  }
});

Deno.test("smcp-agent mcp: what is no message is passed over, and told on stderr", async () => {
  await using office = await serveOffice();
  const pipe = startPipe(office.url);
  pipe.child.stdin.write("hello\n{}\n");
  assertEquals((await pipe.ask(INITIALIZE)).id, 1);
  pipe.child.stdin.end();
  assertEquals(await pipe.ended, 0);
  assertStringIncludes(pipe.errors(), "smcp-agent mcp: ");
});

Deno.test("smcp-agent mcp: what the Server refuses is an error of the request, in its words", async () => {
  await using office = await serveOffice({ mcp: { computer: "pc" } });
  const pipe = startPipe(office.url, "--computer", "other");
  const { id, error } = await pipe.ask(INITIALIZE);
  assertEquals(id, 1);
  assertEquals(
    error.message,
    'Cannot use computer "other": only "pc" is served here',
  );
  pipe.child.stdin.end();
  assertEquals(await pipe.ended, 0);
});

Deno.test("smcp-agent mcp: a wrong flag is one line and exit code 2", async () => {
  await using office = await serveOffice();
  const pipe = startPipe(office.url, "--include", "a.b");
  assertEquals(await pipe.ended, 2);
  assertStringIncludes(pipe.errors(), 'Cannot use the pattern "a.b"');
});
