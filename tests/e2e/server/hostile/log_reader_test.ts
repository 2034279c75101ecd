import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { startBystanders } from "../../../support/server/bystanders.ts";
import { rawPair } from "../../../support/wire/raw_client.ts";
import {
  type ServerCommand,
  startServerCommand,
} from "../../../support/server/server_command.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Exceeds the capacity of pipe and queue: each call is a line of about 250 bytes. */
const CALLS = 8000;

/** The message of the line about omitted lines. */
const GAP = "Lines were dropped: the log was not read";

const MANY = ["--port", "0", "--max-events-per-second", "1000000"];

/** The server's command, whose stderr is not read until the test does. */
async function startUnread() {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--quiet", "--frozen", "--allow-net"],
      ...["--allow-env", "--allow-read", "server/main.ts", ...MANY],
    ],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value: line = "" } = await stdout.read();
  let whole: Promise<string> | undefined;
  return {
    child,
    url: /https?:\/\/[^\s/]+/.exec(line)?.[0] ?? "",
    /** Starts to read the log; resolves at the line about omitted lines, with all of it to its end. */
    async readLog() {
      let text = "";
      const gap = Promise.withResolvers<void>();
      whole = (async () => {
        const chunks = child.stderr.pipeThrough(new TextDecoderStream());
        for await (const chunk of chunks) {
          text += chunk;
          if (text.includes(GAP)) gap.resolve();
        }
        return text;
      })();
      await gap.promise;
      return { whole };
    },
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
      await child.status;
      await stdout.cancel();
      if (whole === undefined) await child.stderr.cancel();
    },
  };
}

/** Makes a number of calls in an office, each with a line in the audit log. */
async function makeCalls(url: string, calls: number): Promise<void> {
  await using pair = await rawPair(url, "noisy");
  pair.computer.handle("client:tool_call", (_, ack) => ack({ content: [] }));
  let next = 0;
  const work = async () => {
    while (next < calls) {
      const request = { ...ANY_REQUEST, req_id: `r${next++}` };
      const answer = await pair.agent.ask("client:tool_call", request);
      assertEquals(answer, { content: [] });
    }
  };
  await Promise.all(Array.from({ length: 40 }, work));
}

interface Line {
  message: string;
  office?: string;
  omitted?: number;
}

const linesOf = (text: string): Line[] =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line));

Deno.test("an unread log blocks no one: lines are omitted, counted, and reported when it is read again (protocol §10)", async () => {
  await using server = await startUnread();
  const { child, url } = server;
  await using bystanders = await startBystanders(url, {}, child.pid);
  await makeCalls(url, CALLS);
  await bystanders.check();
  const log = await server.readLog(); // until then further lines are omitted too
  await bystanders.check();
  child.kill("SIGTERM");
  const [{ code }, text] = await Promise.all([child.status, log.whole]);
  assertEquals(code, 0);
  const lines = linesOf(text);
  const noisy = lines.filter(({ office }) => office === "noisy").length;
  const gaps = lines.filter(({ message }) => message === GAP);
  const omitted = gaps.reduce((sum, { omitted = 0 }) => sum + omitted, 0);
  assertEquals(gaps.length, 1);
  assert(noisy > 100 && noisy < CALLS, `${noisy} lines came`);
  assert(noisy + omitted >= CALLS + 4, `${noisy} + ${omitted} lines`);
  const rest = lines.slice(lines.indexOf(gaps[0]!)).map((l) => l.message);
  assert(rest.includes("SIGTERM: draining") && rest.includes("left"));
});

Deno.test("a server with an unread log still ends at SIGTERM", async () => {
  await using server = await startUnread();
  await makeCalls(server.url, 1000);
  server.child.kill("SIGTERM");
  assertEquals((await server.child.status).code, 0);
});

/** Starts the command with a log file in a new folder. */
async function startLogging(
  inFolder: (folder: string) => Promise<string>,
  test: (file: string, server: ServerCommand) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const file = await inFolder(folder);
    await using server = await startServerCommand(
      [...MANY, "--log-file", file],
      {},
      ["--allow-write"],
    );
    await test(file, server);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("--log-file contains every audit line, however many there are (protocol §10)", async () => {
  const named = (folder: string) => Promise.resolve(`${folder}/log`);
  await startLogging(named, async (file, server) => {
    await makeCalls(server.url, CALLS);
    server.kill("SIGTERM");
    assertEquals(await server.exited, 0);
    const calls = linesOf(await Deno.readTextFile(file))
      .filter(({ message }) => message === "tool_call");
    assertEquals(calls.length, CALLS);
  });
});

Deno.test({
  name:
    "--log-file refuses a pipe, whose reader could block the server, and says what to do",
  ignore: Deno.build.os === "windows",
}, async () => {
  const pipe = async (folder: string) => {
    const path = `${folder}/pipe`;
    await new Deno.Command("mkfifo", { args: [path] }).output();
    return path;
  };
  await startLogging(pipe, async (_file, server) => {
    assertEquals(await server.exited, 2);
    assertStringIncludes(
      server.log,
      "cannot log to a pipe with --log-file: its reader could stop the server",
    );
  });
});

Deno.test("the log is flushed before a fatal error ends the process", async () => {
  await using first = await startServerCommand(["--port", "0"]);
  await using second = await startServerCommand([
    ...["--port", new URL(first.url).port],
    ...["--host", "0.0.0.0", "--insecure"],
  ]);
  assertEquals(await second.exited, 1);
  const [warning = "", error = ""] = second.log.trimEnd().split("\n");
  assertStringIncludes(JSON.parse(warning).message, "INSECURE");
  assertStringIncludes(error, "error: cannot listen on 0.0.0.0");
});
