import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import { argumentsOf, runHere } from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { callEcho } from "../../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { startProxy } from "../../../support/proxy.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";

const SLOW = { timeout: 180_000 };
const LOOPER = fileURLToPath(
  new URL("../../../support/fixtures/mcp_looper.ts", import.meta.url),
);
const UP = fileURLToPath(new URL("../../../../mod.ts", import.meta.url));

/** The configuration of a Computer whose tools run unasked. */
const config = () =>
  configFile({
    servers: {
      fix: fixture({}, { default_tool_meta: { auto_apply: true } }),
    },
  });

/** Starts a program that calls a tool without end. */
const startLooper = (url: string, name: string) =>
  start(Deno.execPath(), ["run", "-A", "--quiet", LOOPER, url, name]);

/** Calls `echo` until that succeeds: a Computer or a Server is on its way back. */
async function untilEcho(
  client: { call: Awaited<ReturnType<typeof connect>>["call"] },
  text: string,
): Promise<void> {
  while (true) {
    const answered = await client.call("pc__echo", { text })
      .catch(() => undefined);
    if (answered?.content[0]?.text === text) return;
  }
}

const connect = (url: string) => {
  const newest = CLIENTS["v2, 2026"];
  assert(newest);
  return newest({ url: new URL(url) });
};

Deno.test({
  name:
    "five programs share a seat, two of them are killed, 100 more come: all get their own answers",
  ...SLOW,
}, async () => {
  await using server = await startServerCommand(["--port=0", "--mcp"]);
  await using file = await config();
  await using computer = runComputer(server, file.file);
  await computer.line(/MCP server fix: running/);
  await computer.line(/^joined/);
  const url = `${server.url}/mcp/north`;
  const names = ["a", "b", "c", "d", "e"];
  const programs = names.map((name) => startLooper(url, name));
  try {
    await Promise.all(programs.map((program) => program.line(/^answer 5$/)));
    const shuffled = programs.map((program) => ({ program, at: Math.random() }))
      .toSorted((a, b) => a.at - b.at).map(({ program }) => program);
    for (const program of shuffled.slice(0, 2)) program.signal("SIGKILL");
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`);
    const answers = await Promise.all(
      texts.map(async (text) =>
        JSON.parse((await post(url, callEcho(text))).body)
          .result.content[0].text
      ),
    );
    assertEquals(answers, texts);
    for (const program of shuffled.slice(2)) {
      const done = program.lines.length;
      await program.line(new RegExp(`^answer ${done + 20}$`));
    }
  } finally {
    for (const program of programs) program.signal("SIGKILL");
    await Promise.all(programs.map(({ status }) => status));
  }
});

Deno.test({
  name:
    "a Computer that is killed in a call ends it, and is called again when it is back: no client reconnects",
  ...SLOW,
}, async () => {
  await using server = await startServerCommand(["--port=0", "--mcp"]);
  await using file = await config();
  await using client = await connect(`${server.url}/mcp/north`);
  await client.listening();
  {
    await using computer = runComputer(server, file.file);
    await computer.line(/MCP server fix: running/);
    await untilEcho(client, "hello");
    const slow = client.call("pc__slow");
    await client.call("pc__slow_began");
    computer.signal("SIGKILL");
    const result = await slow;
    assertEquals([result.isError, result._meta?.error_code], [true, 404]);
  }
  await using computer = runComputer(server, file.file);
  await computer.line(/MCP server fix: running/);
  await untilEcho(client, "again");
});

Deno.test({
  name:
    "a Server that is killed is replaced by its successor: no client and no Computer is started anew",
  ...SLOW,
}, async () => {
  await using first = await startServerCommand(["--port=0", "--mcp"]);
  await using second = await startServerCommand(["--port=0", "--mcp"]);
  await using proxy = await startProxy(first.url);
  await using file = await config();
  await using computer = runComputer(proxy, file.file);
  await computer.line(/MCP server fix: running/);
  await using client = await connect(`${proxy.url}/mcp/north`);
  await untilEcho(client, "hello");
  proxy.turnTo(second.url);
  Deno.kill(first.pid, "SIGKILL");
  await first.exited;
  await untilEcho(client, "again");
});

Deno.test({
  name: "up says how MCP clients get its tools, and they do; not with --no-mcp",
  ...SLOW,
}, async () => {
  await using file = await config();
  const up = (...flags: string[]) =>
    start(Deno.execPath(), [
      ...argumentsOf("computer", []).with(-1, UP),
      ...["up", "--port=0", "--office=my office", "--name=pc"],
      ...["--config", file.file, ...flags],
    ]);
  {
    await using served = up();
    const [, url = ""] = await served.line(
      /^ {2}claude mcp add --transport http office '?(http:\S+?)'?$/,
    );
    assertMatch(url, /\/mcp\/my%20office$/);
    await served.line(/MCP server fix: running/);
    await served.line(/joined office/);
    const { body } = await post(url, modernRequest("tools/list"));
    assertEquals(body.includes('"pc__echo"'), true);
  }
  await using plain = up("--no-mcp");
  const [url = ""] = await plain.line(/http:\/\/127\.0\.0\.1:\d+/);
  await plain.line(/joined office/);
  assertEquals((await post(`${url}/mcp/home`)).status, 404);
  assertEquals(plain.lines.some((line) => line.includes("claude")), false);
});

Deno.test({
  name:
    "smcp-agent works right away at an up whose MCP clients listen, and they go on",
  ...SLOW,
}, async () => {
  await using file = await config();
  await using served = start(Deno.execPath(), [
    ...argumentsOf("computer", []).with(-1, UP),
    ...["up", "--port=0", "--name=pc", "--config", file.file],
  ]);
  const [, address = ""] = await served.line(
    /^ {2}claude mcp add --transport http office (http:\S+)$/,
  );
  await served.line(/MCP server fix: running/);
  await served.line(/joined office/);
  const url = new URL(address);
  await using stack = new AsyncDisposableStack();
  const clients = await Promise.all(
    Object.values(CLIENTS).map(async (connect) => {
      const client = stack.use(await connect({ url }));
      await client.listening();
      assert((await client.tools()).length > 0);
      return client;
    }),
  );
  const commands = {
    "call echo --arg text=hello": /^hello$/m,
    members: /^pc +computer/m,
    tools: /^pc: \d+ tools$/m,
    desktop: /^/,
    resources: /^/,
    docs: /^/,
    prompts: /^/,
    skills: /^/,
    config: /^ {2}fix /m,
  };
  for (const [line, printed] of Object.entries(commands)) {
    const { code, stdout, stderr } = await runHere(
      "agent",
      [...line.split(" "), "--office", "home", "--url", url.origin],
    );
    assertEquals(code, 0, `${line}: ${stderr}`);
    assertMatch(stdout, printed, line);
  }
  for (const client of clients) {
    const { content } = await client.call("pc__echo", { text: "again" });
    assertEquals(content[0]?.text, "again");
    await client.terminate();
  }
});
