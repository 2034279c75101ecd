/**
 * Measures transfers of large content through a Server that takes small messages: Server, Computer,
 * MCP server and Agent, each a process of its own.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "../../tests/support/child.ts";
import { startMain } from "../../tests/support/command.ts";
import { DENO_ENV } from "../../tests/support/computer/mcp_servers.ts";
import { temporaryFolder } from "../leftovers.ts";
import type { Memory, Transfer, TransferCost } from "./result.ts";

const MESSAGE_BYTES = 1_000_000;
const FULL_BYTES = 100 * 2 ** 20;
const QUICK_BYTES = 5 * 2 ** 20;

const TRANSFERS: readonly Transfer[] = ["put", "stream", "result"];

/** Measures each transfer once. */
export async function measureBlobs(
  { quick }: { quick: boolean },
): Promise<TransferCost[]> {
  const bytes = quick ? QUICK_BYTES : FULL_BYTES;
  const folder = temporaryFolder();
  const file = join(folder, "file.bin");
  await writeFile(file, randomBytes(bytes));
  const config = join(folder, "computer.json");
  await writeFile(config, JSON.stringify({ servers: { pictures: PICTURES } }));
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    startMain("server", [
      ...["--port=0", "--protocol=0.4"],
      `--max-message-bytes=${MESSAGE_BYTES}`,
    ]),
  );
  const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
  const computer = stack.use(
    startMain("computer", [
      "run",
      ...["--url", url, "--office", "blobs", "--name", "pc"],
      ...["--config", config, "--yes", "--max-message", String(2 ** 28)],
      ...["--landing-root", join(folder, "landing")],
    ], { TMPDIR: folder }),
  );
  await computer.line(/pictures.*running/);
  const costs: TransferCost[] = [];
  for (const transfer of TRANSFERS) {
    const before = [await rssOf(server.pid), await rssOf(computer.pid)];
    await Promise.all([resetPeak(server.pid), resetPeak(computer.pid)]);
    await using agent = start(Deno.execPath(), [
      ...["run", "-A", "--quiet", AGENT, url, transfer, String(bytes), file],
    ]);
    const [line] = await agent.line(/^\{.*\}$/);
    const { isWhole, seconds, ...own } = JSON.parse(line);
    if (!isWhole) throw new Error(`${transfer}: not what was sent`);
    await agent.status;
    costs.push({
      transfer,
      seconds,
      memory: {
        server: { before: before[0] ?? 0, peak: await peakOf(server.pid) },
        computer: { before: before[1] ?? 0, peak: await peakOf(computer.pid) },
        agent: own as Memory,
      },
    });
  }
  return costs;
}

const AGENT = fileURLToPath(new URL("agent.ts", import.meta.url));

const PICTURES = {
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: [
      ...["run", "-A", "--quiet"],
      fileURLToPath(
        new URL("../../tests/support/fixtures/pictures.ts", import.meta.url),
      ),
    ],
    env: DENO_ENV,
  },
};

/** Starts the peak of a process's memory over; Linux only. */
const resetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, "5");

const peakOf = (pid: number) => statusOf(pid, "VmHWM");
const rssOf = (pid: number) => statusOf(pid, "VmRSS");

async function statusOf(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const [, kib] = new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(status) ??
    [];
  return Number(kib) / 1024;
}

/** Renders what it cost, as lines for a terminal. */
export const renderBlobs = (costs: readonly TransferCost[]): string =>
  costs.map(({ transfer, seconds, memory }) =>
    `${transfer.padEnd(7)} ${seconds.toFixed(1).padStart(5)} s   ${
      Object.entries(memory).map(([who, { before, peak }]) =>
        `${who} ${before.toFixed(0)} → ${peak.toFixed(0)} MiB`
      ).join(", ")
    }`
  ).join("\n");
