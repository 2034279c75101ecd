import { configure, getTextFormatter } from "@logtape/logtape";
import process from "node:process";
import {
  type CredentialFlags,
  credentialHeaders,
} from "../protocol/cli/credentials.ts";
import { resultMeta } from "../protocol/mod.ts";
import { reasonOf } from "./_values.ts";
import type { AuthorizationRequest } from "./authorization/authorizations.ts";
import { SmcpComputer } from "./computer.ts";
import { loadComputerConfig } from "./config/load_config.ts";
import { localDirResolver } from "./dpe/local_dir_resolver.ts";
import { watchConfig } from "./config/watch_config.ts";
import { log } from "./log.ts";
import type { ToolCallEnded } from "./options.ts";
import type { ServerStatus } from "./server_status.ts";
import { openBrowser } from "./terminal/open_browser.ts";
import {
  type TerminalQuestions,
  terminalQuestions,
} from "./terminal/questions.ts";

/** What `run` is told on the command line. */
export interface RunFlags extends CredentialFlags {
  /** Address of the Server. */
  url: string;
  /** Where it answers Socket.IO. */
  path: string;
  /** The office to join. */
  office: string;
  /** The name to join with. */
  name: string;
  /** The configuration file. */
  config: string;
  /** Where documents are published; absent: they are not. */
  dpeDir?: string;
  /** Where authorizations for MCP servers are kept. */
  oauthDir: string;
  /** Values of inputs by id. */
  input: Record<string, string>;
  /** Run tools without `auto_apply` unasked. */
  yes?: boolean;
  /** Take the configuration anew whenever its file changes. */
  watch?: boolean;
}

/** Hosts the MCP servers of a file until a signal ends it; throws what a person has to see to. */
export async function run(
  {
    url,
    path,
    office,
    name,
    config,
    dpeDir,
    oauthDir,
    input,
    yes,
    watch,
    ...credentials
  }: RunFlags,
): Promise<void> {
  await logToStderr();
  const { inputs, servers } = await loadComputerConfig(config);
  const computer = new SmcpComputer({
    url,
    path,
    name,
    headers: credentialHeaders(credentials),
    inputs,
    servers,
    inputValues: input,
    oauth: { directory: oauthDir, authorize: showPage },
    ...person(),
    ...(yes && { confirm: () => "once" as const }),
  });
  if (dpeDir !== undefined) {
    computer.registerDpeResolver(localDirResolver(dpeDir));
  }
  const stopped = firstSignal();
  report(computer, url);
  let watching: Disposable | undefined;
  try {
    watching = watch ? await follow(config, computer) : undefined;
    const served = (async () => {
      await computer.connect();
      const end = dismissed(computer);
      await Promise.race([end, computer.join(office)]);
      await end;
    })();
    await Promise.race([stopped, served]);
    console.log("stopping");
  } finally {
    watching?.[Symbol.dispose]();
    await computer.close();
  }
}

/** Takes every new state of the file; one that can not be used changes nothing. */
const follow = (
  file: string,
  computer: SmcpComputer,
): Promise<Disposable> =>
  watchConfig(file, {
    changed: async (config) => {
      const { add, update, remove } = await computer.configure(config);
      const lines = [
        ...add.map(({ name }) => `added ${name}`),
        ...update.map(({ name }) => `replaced ${name}`),
        ...remove.map((name) => `removed ${name}`),
      ];
      if (lines.length > 0) console.log(`configuration: ${lines.join(", ")}`);
    },
    refused: (reason) =>
      console.log(
        `the old configuration stays, the new one has mistakes:\n${reason}`,
      ),
  });

/** Whom questions can be put to: nobody unless a person sits at a terminal. */
function person(): TerminalQuestions | undefined {
  const { stdin: input, stdout: output } = process;
  return input.isTTY && output.isTTY
    ? terminalQuestions({ input, output })
    : undefined;
}

/** The address is for this terminal alone: it goes into no log. */
function showPage({ server, url }: AuthorizationRequest): void {
  console.log(
    `MCP server ${server}: authorize this Computer in a browser on this machine:\n  ${url}`,
  );
  if (process.stdout.isTTY) openBrowser(url);
}

/** Resolves at the first signal; a second one does not wait for anything. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let ending = false;
    for (const [signal, code] of SIGNALS) {
      process.on(signal, () => {
        if (ending) process.exit(code);
        ending = true;
        resolve();
      });
    }
  });
}

/** A closed terminal sends SIGHUP, which children in groups of their own do not get. */
const SIGNALS = [["SIGHUP", 129], ["SIGINT", 130], ["SIGTERM", 143]] as const;

/** Rejects when the Server does not want this Computer any more. */
function dismissed(computer: SmcpComputer): Promise<never> {
  return new Promise((_, reject) => {
    computer.on("disconnected", ({ reason, reconnecting }) => {
      if (!reconnecting) reject(new Error(`disconnected for good: ${reason}`));
    });
  });
}

function report(computer: SmcpComputer, url: string): void {
  computer.on("connected", () => console.log(`connected to ${url}`));
  computer.on("disconnected", ({ reason, reconnecting }) => {
    if (reconnecting) console.log(`connection lost (${reason}), reconnecting`);
  });
  computer.on(
    "joined",
    ({ office, rejoined }) =>
      console.log(
        `${
          rejoined ? "back in" : "joined"
        } office ${office} as ${computer.name}`,
      ),
  );
  computer.on(
    "rejoin_failed",
    ({ office, reason, retryIn }) =>
      console.log(
        `cannot join office ${office} again: ${reason}; next attempt in ${
          (retryIn / 1000).toFixed(1)
        } s`,
      ),
  );
  let problems = new Set<string>();
  computer.on("tools_changed", () => {
    const now = computer.status().problems;
    for (const text of now) {
      if (!problems.has(text)) console.log(`problem: ${text}`);
    }
    problems = new Set(now);
  });
  const last = new Map<string, string>();
  computer.on("server_state", (status) => {
    const line = stateLine(status);
    // One that can not start is tried again for ever: that is said once.
    if (line === undefined || line === last.get(status.name)) return;
    last.set(status.name, line);
    console.log(line);
  });
  computer.on("call_ended", (call) => console.log(callLine(call)));
}

/** Undefined for what is no news: another attempt begins. */
function stateLine(
  { name, state, tools, error, nextAttempt, problems }: ServerStatus,
): string | undefined {
  if (state === "running") {
    return [
      `MCP server ${name}: running, ${tools} tools`,
      ...problems.map((text) => `  ${text}`),
    ].join("\n");
  }
  if (error === undefined) return `MCP server ${name}: ${state}`;
  if (!nextAttempt && state !== "failed") return undefined;
  const line = `MCP server ${name}: ${state}: ${error}`;
  return nextAttempt ? `${line}\n  it is started again by itself` : line;
}

function callLine(
  { agent, tool, milliseconds, result }: ToolCallEnded,
): string {
  return `call of ${tool} by ${agent}: ${howItEnded(result)}, ${
    Math.round(milliseconds)
  } ms`;
}

function howItEnded(result: ToolCallEnded["result"]): string {
  if (!result) return "refused";
  if (!result.isError) return "ok";
  const { error_code, a2c_cancelled } = resultMeta(result);
  if (a2c_cancelled) return "cancelled";
  return error_code === undefined ? "tool error" : `failed (${error_code})`;
}

async function logToStderr(): Promise<void> {
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: "warning", sinks: ["stderr"] },
      {
        category: ["logtape", "meta"],
        lowestLevel: "warning",
        sinks: ["stderr"],
      },
    ],
  });
  // No fault of one MCP server may end the others.
  const survive = (error: unknown) =>
    log.error("Unexpected: {reason}", { reason: reasonOf(error) });
  process.on("uncaughtException", survive);
  process.on("unhandledRejection", survive);
}
