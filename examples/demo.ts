/**
 * A complete setup in under a minute: a Server, a Computer with two MCP servers from npm, and an
 * Agent, each in a separate process, started with the commands that a user types.
 *
 * ```sh
 * deno task demo
 * ```
 *
 * @module
 */
import { shellWord } from "../cli/own_command.ts";
import { type Child, start } from "../tests/support/child.ts";
import {
  everything,
  filesystem,
} from "../tests/support/computer/mcp_servers.ts";

const deno = Deno.execPath();
const root = new URL("../", import.meta.url);
const running: Child[] = [];
const folder = await Deno.makeTempDir({ prefix: "smcp-demo-" });
const scratch = await Deno.realPath(folder);

try {
  await demo();
  step("Stop everything");
} finally {
  for (const child of running.reverse()) await child.stop();
  await Deno.remove(folder, { recursive: true });
}
console.log("\nDone. Nothing is left running.");

async function demo(): Promise<void> {
  step("Start a Server");
  const server = keep(
    start(deno, [
      "run",
      "--allow-net",
      "--allow-env",
      "--allow-read",
      "server/main.ts",
      "--port",
      "0",
    ], { cwd: root, onLine: show("server") }),
  );
  const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);

  step("Start a Computer that hosts both MCP servers, and let it join");
  const config = `${scratch}/computer.json`;
  await Deno.writeTextFile(config, JSON.stringify(configuration(), null, 2));
  const office = ["--url", url, "--office", "demo"];
  const computer = keep(
    start(deno, [
      "run",
      "-A",
      "computer/main.ts",
      "run",
      ...office,
      "--name",
      "laptop",
      "--config",
      config,
    ], { cwd: root, onLine: show("computer") }),
  );
  await Promise.all([
    computer.line(/everything.*running/),
    computer.line(/files.*running/),
    computer.line(/joined/i),
  ]);

  const startAgent = (...args: string[]) => {
    const line = [...args, ...office].map(shellWord).join(" ");
    console.log(`  $ smcp-agent ${line}`);
    const command = ["run", "-A", "agent/main.ts", ...args, ...office];
    return start(deno, command, { cwd: root, onLine: show("agent") });
  };
  const agent = (...args: string[]) => end(startAgent(...args));

  step("As an Agent: who is here?");
  await agent("members");

  step("Which tools are there?");
  await agent("tools");

  step("Write a file on the Computer");
  const file = `${scratch}/hello.txt`;
  await agent(
    "call",
    "write_file",
    "--params",
    JSON.stringify({ path: file, content: "Hello from the Agent" }),
  );

  step("Read it back");
  await agent(
    "call",
    "read_text_file",
    "--params",
    JSON.stringify({ path: file }),
  );
  if (await Deno.readTextFile(file) !== "Hello from the Agent") {
    throw new Error("the file on disk is not what the Agent wrote");
  }

  step("Start a call of a minute, and cancel it with Ctrl-C");
  const long = JSON.stringify({ duration: 60, steps: 60 });
  const call = keep(
    startAgent("call", "trigger-long-running-operation", "--params", long),
  );
  await call.line(/calling trigger-long-running-operation/);
  call.signal("SIGINT");
  await computer.line(/trigger-long-running-operation.*cancelled/);
}

function configuration() {
  const default_tool_meta = { auto_apply: true }; // there is no user to ask
  return {
    servers: {
      everything: { ...everything(), default_tool_meta },
      files: { ...filesystem(scratch), default_tool_meta },
    },
  };
}

function step(title: string): void {
  console.log(`\n${title}`);
}

/** Prints the lines of a process after its name. */
function show(name: string): (line: string) => void {
  return (line) => console.log(`  ${name.padEnd(8)} | ${line}`);
}

async function end(child: Child): Promise<void> {
  const { success } = await child.status;
  if (!success) throw new Error(child.lines.join("\n"));
}

function keep(child: Child): Child {
  running.push(child);
  return child;
}
