import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { startBystanders } from "../../../support/server/bystanders.ts";
import { rawPair } from "../../../support/wire/raw_client.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Exceeds the capacity of pipe and queue: each call is a line of about 250 bytes. */
const CALLS = 8000;

/** The message of the line about omitted lines. */
const GAP = "Lines were left out here: nobody read the log";

const MANY = ["--port", "0", "--max-events-per-second", "1000000"];

/** The server's command, whose stderr is not read until the test does. */
async function startUnread(args: readonly string[]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--quiet", "--frozen", "--allow-net"],
      ...["--allow-env", "--allow-read", "server/main.ts", ...args],
    ],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value: line = "" } = await stdout.read();
  let read = false;
  return {
    pid: child.pid,
    url: /https?:\/\/[^\s/]+/.exec(line)?.[0] ?? "",
    kill: (signal: "SIGTERM") => child.kill(signal),
    /** Starts to read the log. */
    readLog() {
      read = true;
      let text = "";
      const arrived = Promise.withResolvers<void>();
      const whole = (async () => {
        const chunks = child.stderr.pipeThrough(new TextDecoderStream());
        for await (const chunk of chunks) {
          text += chunk;
          if (text.includes(GAP)) arrived.resolve();
        }
        return text;
      })();
      return {
        /** Resolves when the line about omitted lines was read. */
        gap: arrived.promise,
        /** All of it, to its end. */
        whole,
      };
    },
    status: child.status,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch { /* it has ended */ }
      await child.status;
      await stdout.cancel();
      if (!read) await child.stderr.cancel();
    },
  };
}

/** Makes a number of calls in an office, each with a line in the audit log. */
async function makeCalls(url: string, calls: number): Promise<void> {
  await using pair = await rawPair(url, "noisy");
  pair.computer.handle(TOOL_CALL_EVENT, (_, ack) => ack({ content: [] }));
  let next = 0;
  const work = async () => {
    while (next < calls) {
      const answer = await pair.agent.ask(TOOL_CALL_EVENT, {
        agent: "agent",
        req_id: `r${next++}`,
        computer: "computer",
        tool_name: "echo",
        params: {},
        timeout: 60,
      });
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

Deno.test({
  name:
    "an unread log blocks no one: lines are omitted, counted, and reported when it is read again (spec §10)",
  async fn() {
    await using server = await startUnread(MANY);
    await using bystanders = await startBystanders(server.url, {}, server.pid);
    await makeCalls(server.url, CALLS);
    await bystanders.check();
    const log = server.readLog();
    await log.gap; // until then further lines are omitted too
    await bystanders.check();
    server.kill("SIGTERM");
    const [{ code }, text] = await Promise.all([server.status, log.whole]);
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
  },
});

Deno.test({
  name: "a server with an unread log still ends at SIGTERM",
  async fn() {
    await using server = await startUnread(MANY);
    await makeCalls(server.url, 1000);
    server.kill("SIGTERM");
    assertEquals((await server.status).code, 0);
  },
});

Deno.test({
  name:
    "--log-file contains every audit line, however many there are (spec §10)",
  async fn() {
    const file = await Deno.makeTempFile();
    try {
      await using server = await startServerCommand(
        [...MANY, "--log-file", file],
        {},
        ["--allow-write"],
      );
      await makeCalls(server.url, CALLS);
      server.kill("SIGTERM");
      assertEquals(await server.exited, 0);
      const calls = linesOf(await Deno.readTextFile(file))
        .filter(({ message }) => message === "tool_call");
      assertEquals(calls.length, CALLS);
    } finally {
      await Deno.remove(file);
    }
  },
});

Deno.test({
  name:
    "--log-file refuses a pipe, whose reader could block the server, and says what to do",
  ignore: Deno.build.os === "windows",
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const pipe = `${folder}/pipe`;
      await new Deno.Command("mkfifo", { args: [pipe] }).output();
      await using server = await startServerCommand(
        ["--port", "0", "--log-file", pipe],
        {},
        ["--allow-write"],
      );
      assertEquals(await server.exited, 2);
      assertStringIncludes(
        server.log,
        "cannot log to a pipe with --log-file: its reader could stop the server",
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "the log is flushed before a fatal error ends the process",
  async fn() {
    await using first = await startServerCommand(["--port", "0"]);
    await using second = await startServerCommand([
      ...["--port", new URL(first.url).port],
      ...["--host", "0.0.0.0", "--insecure"],
    ]);
    assertEquals(await second.exited, 1);
    const [warning = "", error = ""] = second.log.trimEnd().split("\n");
    assertStringIncludes(JSON.parse(warning).message, "INSECURE");
    assertStringIncludes(error, "error: cannot listen on 0.0.0.0");
  },
});
