/** Transfers between processes, and what is left when one of them is killed (0.4 §7). */
import { assertEquals, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import { configFile } from "../../support/computer/config_file.ts";
import { DENO_ENV } from "../../support/computer/mcp_servers.ts";
import {
  runComputer,
  type RunComputerOptions,
} from "../../support/computer/run_computer.ts";
import { type Office, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const MEGABYTE = 1_000_000;

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
  [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${path}/${name}`) : [name]
  );

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

Deno.test({
  name:
    "0.4 §7.1: what a killed Computer left of results is removed by the next one",
  timeout: 120_000,
}, async () => {
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
