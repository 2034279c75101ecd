import { assert, assertEquals, assertThrows } from "@std/assert";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ToolHost } from "../../../../computer/mod.ts";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { hostOf, startHost, textOf } from "../../../support/computer/host.ts";
import type { StdioSettings } from "../../../support/computer/mcp_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { scripted } from "../../../support/computer/scripted.ts";
import type { Script } from "../../../support/fixtures/scripted_server.ts";
import { startOffice } from "../../../support/office.ts";
import { gone, isAlive, written } from "../../../support/processes.ts";
import { type Scratch, scratch } from "../../../support/scratch.ts";

/** Starts MCP servers by their scripts, ends all, and returns what each has noted meanwhile. */
async function endsOf(
  folder: Scratch,
  scripts: Readonly<Record<string, Script>>,
  exitGraceMs?: number,
): Promise<Record<string, string>> {
  const files = new Map<string, string>();
  const servers: Record<string, StdioSettings> = {};
  for (const [name, script] of Object.entries(scripts)) {
    const journal = join(folder.path, name);
    files.set(name, journal);
    servers[name] = scripted({ ...script, journal });
  }
  const host = await startHost(servers, {
    connect: (config, signal) => connectMcp(config, signal, { exitGraceMs }),
  });
  const pids: number[] = [];
  for (const name of Object.keys(scripts)) {
    pids.push(Number(await textOf(host, name, "pid")));
  }
  await host.close();
  for (const pid of pids) assert(!await isAlive(pid), `${pid} is left`);
  const noted: Record<string, string> = {};
  for (const [name, file] of files) {
    noted[name] = (await readFile(file, "utf8")).trim().replaceAll("\n", ", ");
  }
  return noted;
}

/** On other systems there is no shell that signals. */
const ignore = Deno.build.os === "windows";

Deno.test({
  name:
    "an MCP server has two seconds from the end of its input, and two from SIGTERM, which it gets once; many end at once",
  ignore,
}, async () => {
  await using folder = await scratch();
  const noted = await endsOf(folder, {
    cleans: { cleanUpMs: 700 },
    cleansAtTerm: { onTermMs: 700 },
    stays: {},
    ...Object.fromEntries(
      Array.from({ length: 6 }, (_, at) => [`more${at}`, { cleanUpMs: 700 }]),
    ),
  });
  const clean = "end of input, clean";
  assertEquals(noted, {
    cleans: clean,
    cleansAtTerm: "end of input, SIGTERM, clean",
    stays: "end of input, SIGTERM",
    ...Object.fromEntries(
      Array.from({ length: 6 }, (_, at) => [`more${at}`, clean]),
    ),
  });
});

Deno.test({
  name:
    "exitGraceMs sets these times, to zero too, and refuses what is no time",
  ignore,
}, async () => {
  await using folder = await scratch();
  // Both would end in a minute.
  await endsOf(folder, { slow: { cleanUpMs: 60_000, onTermMs: 60_000 } }, 0);
  for (const exitGraceMs of [-1, NaN, Infinity, "2"]) {
    const options: object = { servers: {}, exitGraceMs };
    assertThrows(
      () => new ToolHost({ servers: {}, ...options }),
      TypeError,
      "exitGraceMs",
    );
  }
});

Deno.test({
  name:
    "a daemon that left the group of its MCP server gets SIGTERM and cleans up: at a stop, at a crash, and when the Computer is killed",
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using folder = await scratch();
  const daemon = (name: string) => join(folder.path, name);
  const host = hostOf({
    stopped: scripted({ daemon: daemon("stopped"), cleanUpMs: 0 }),
    crashed: scripted({ daemon: daemon("crashed") }),
  });
  await host.start();
  assert(existsSync(daemon("stopped")) && existsSync(daemon("crashed")));
  await host.stopServer("stopped");
  assertEquals(existsSync(daemon("stopped")), false);
  const back = new Promise<boolean>((resolve) =>
    host.on("serverState", () => resolve(existsSync(daemon("crashed"))))
  );
  Deno.kill(Number(await textOf(host, "crashed", "pid")), "SIGKILL");
  assertEquals(await back, false);
  await host.close();

  await using config = await configFile({
    servers: { killed: scripted({ daemon: daemon("killed") }) },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file);
  await computer.line(/^MCP server killed: running/);
  computer.signal("SIGKILL");
  // Polls, as nothing reports the end of a file.
  while (existsSync(daemon("killed"))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

Deno.test({
  name:
    "an MCP server in Python ends in its own way, whatever it does: finally, atexit, a handler of SIGTERM",
  ignore,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "server.py");
  await Deno.writeTextFile(file, PYTHON);
  const journal = join(folder.path, "journal");
  await using host = await startHost({
    a: {
      type: "stdio",
      server_parameters: { command: "python3", args: [file, journal] },
    },
  });
  const pid = Number(await written(`${journal}.pid`));
  await host.close();
  await gone(pid);
  assertEquals(await readFile(journal, "utf8"), "finally\natexit\n");
});

const PYTHON = `
import atexit, json, os, sys, time
def note(step):
    with open(sys.argv[1], "a") as file: file.write(step + "\\n")
with open(sys.argv[1] + ".pid", "w") as file: file.write(f"{os.getpid()}\\n")
atexit.register(note, "atexit")
try:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message: continue
        result = {"tools": []} if message["method"] == "tools/list" else {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "py", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
finally:
    time.sleep(0.7)
    note("finally")
`;
