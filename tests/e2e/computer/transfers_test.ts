/** Transfers between processes, and what is left when one of them is killed (protocol §8.7). */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import { ProtocolError } from "../../../protocol/mod.ts";
import { sha256, someBytes } from "../../support/blob_script.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { DENO_ENV } from "../../support/computer/mcp_servers.ts";
import {
  runComputer,
  type RunComputerOptions,
} from "../../support/computer/run_computer.ts";
import { type Office, startOffice } from "../../support/office.ts";
import { start } from "../../support/child.ts";
import { argumentsOf, runHere, runMain } from "../../support/command.ts";
import { scratch } from "../../support/scratch.ts";

const MEGABYTE = 1_000_000;
const FILE = someBytes(5_000_000);
const NAMED = { name: "a.bin" };

const PICTURES = {
  type: "stdio",
  default_tool_meta: { auto_apply: true },
  server_parameters: {
    command: Deno.execPath(),
    args: [
      ...["run", "-A", "--quiet"],
      fileURLToPath(
        new URL("../../support/fixtures/pictures.ts", import.meta.url),
      ),
    ],
    env: DENO_ENV,
  },
};

/** All files below a folder. */
const filesIn = (path: string): string[] =>
  entriesOf(path).flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${path}/${name}`) : [name]
  );

/** None where another process removed the folder meanwhile. */
function entriesOf(path: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(path)];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Resolves when a folder has no files; the `timeout` of the test ends a wait without success. */
async function empty(path: string): Promise<void> {
  while (filesIn(path).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Starts a Computer as a process; resolves when it is in the office. */
async function joined(
  office: Office,
  file: string,
  options: RunComputerOptions,
) {
  const child = runComputer(office, file, options);
  await child.line(/^joined office/);
  return child;
}

Deno.test("protocol §8.7: what a killed Computer left of results is removed by the next one", async () => {
  await using folder = await scratch();
  await using config = await configFile({ servers: { pictures: PICTURES } });
  await using office = await startOffice({
    server: { maxMessageBytes: MEGABYTE },
  });
  const { agent } = office;
  const options = { env: { TMPDIR: folder.path } };
  await using killed = await joined(office, config.file, options);
  await killed.line(/pictures.*running/);
  const { content } = await agent.callTool("pc", "pictures", {
    sizes: [20_000_000, 20_000_000],
  }, { blobs: "keep" });
  assertEquals(filesIn(folder.path).length, 1); // the other is in memory
  const handle = String(content[1]?._meta?.a2c_blob_handle);
  const reader = agent.openBlob("pc", handle).getReader();
  await reader.read();
  killed.signal("SIGKILL");
  await killed.status;
  await assertRejects(async () => {
    while (!(await reader.read()).done);
  });
  assertEquals(filesIn(folder.path).length, 1);
  await using next = await joined(office, config.file, options);
  await empty(folder.path);
  await next.stop();
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

Deno.test("protocol §8.7: a killed Computer leaves nothing of uploads but what the next one removes", async () => {
  await using folder = await scratch();
  const root = `${folder.path}/landing`;
  await using config = await configFile({ servers: {} });
  await using office = await startOffice({
    server: { maxMessageBytes: MEGABYTE, protocol: "0.4" },
  });
  const { agent } = office;
  const options = { flags: ["--landing-root", root] };
  await using killed = await joined(office, config.file, options);
  await assertRejects(() =>
    agent.putFile("pc", FILE, {
      ...NAMED,
      onProgress: ({ sent }) => {
        if (sent > 2_000_000) killed.signal("SIGKILL");
      },
    })
  );
  await killed.status;
  const [part, ...others] = filesIn(root);
  assert(part?.endsWith(".part"), part);
  assertEquals(others, []);
  await using next = await joined(office, config.file, options);
  await empty(root);
  const { path } = await agent.putFile("pc", FILE, NAMED);
  assertEquals(sha256(await Deno.readFile(path)), sha256(FILE));
  await next.stop();
  assertEquals(filesIn(root).length, 1);
});

Deno.test("protocol §8.7: files go up through a Server of small messages; a cancel in the middle leaves nothing", async () => {
  await using folder = await scratch();
  await using office = await startOffice({
    server: { maxMessageBytes: MEGABYTE, protocol: "0.4" },
  });
  await office.addComputer("pc", { landingRoot: folder.path });
  await office.addComputer("other");
  const { agent } = office;
  const { path, size } = await agent.putFile("pc", FILE, { name: "a.bin" });
  assertEquals([size, await Deno.readFile(path)], [FILE.length, FILE]);
  assert(path.endsWith("_a.bin"), path);
  await Deno.remove(path);
  const abort = new AbortController();
  await assertRejects(
    () =>
      agent.putFile("pc", FILE, {
        ...NAMED,
        signal: abort.signal,
        onProgress: ({ sent }) => {
          if (sent > 2_000_000) abort.abort(new Error("enough"));
        },
      }),
    Error,
    "enough",
  );
  await empty(folder.path);
  const refused = await assertRejects(
    () => agent.putFile("other", FILE, NAMED),
    ProtocolError,
  );
  assertEquals(refused.details, { reason: "forbidden" });
  // An Agent that leaves gives up what it had begun.
  await assertRejects(() =>
    agent.putFile("pc", FILE, {
      ...NAMED,
      onProgress: ({ sent }) => {
        if (sent > 2_000_000) void agent.leave();
      },
    })
  );
  await empty(folder.path);
});

Deno.test("smcp-agent put prints where the file is, and says why not", async () => {
  await using folder = await scratch();
  const file = `${folder.path}/notes.txt`;
  await Deno.writeTextFile(file, "hello");
  await using office = await startOffice({ server: { protocol: "0.4" } });
  await office.addComputer("pc", { landingRoot: `${folder.path}/landing` });
  await office.agent.leave();
  const put = (...args: string[]) =>
    runHere("agent", [
      ...["put", ...args, "--url", office.url, "--office", office.officeId],
    ]);
  const done = await put(file);
  assertEquals([done.code, done.stderr.includes("putting")], [0, true]);
  assertEquals(await Deno.readTextFile(done.stdout.trimEnd()), "hello");
  const json = JSON.parse((await put(file, "--json")).stdout);
  assertEquals([json.size, json.sha256], [
    5,
    sha256(new TextEncoder().encode("hello")),
  ]);
  const missing = await put(`${folder.path}/none`);
  assertEquals([missing.code, missing.stderr], [
    2,
    `error: Cannot read ${folder.path}/none: there is no such file\n`,
  ]);
  assertEquals((await put(folder.path)).code, 2);
  await using old = await startOffice();
  await old.addComputer("pc", { landingRoot: `${folder.path}/landing` });
  await assertRejects(
    () => old.agent.putFile("pc", file),
    Error,
    "Cannot put a file on the Computer: this connection speaks protocol 0.2, which has no uploads; choose 0.4 with the option protocol (--protocol), at the Computer too",
  );
});

Deno.test("up takes files with --protocol 0.4, which the command for agents names", async () => {
  await using folder = await scratch();
  await using config = await configFile({ servers: {} });
  await using up = start(Deno.execPath(), [
    ...argumentsOf("computer", []).with(
      -1,
      fileURLToPath(new URL("../../../mod.ts", import.meta.url)),
    ),
    ...["up", "--port=0", "--protocol=0.4", "--config", config.file],
    ...["--landing-root", folder.path, "--name=pc"],
  ]);
  const [, url = "", office = "", version = ""] = await up.line(
    /tools --url (\S+) --office (\S+) --protocol (\S+)$/,
  );
  await up.line(/joined office/);
  const { stdout, stderr } = await runMain("agent", [
    ...["put", config.file, "--url", url, "--office", office],
    ...["--protocol", version],
  ]);
  assertEquals(
    await Deno.readTextFile(stdout.trimEnd()).catch(() => stderr),
    await Deno.readTextFile(config.file),
  );
});
