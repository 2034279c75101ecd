import { readFile } from "node:fs/promises";
import process from "node:process";
import { text } from "node:stream/consumers";
import { UsageError } from "../../cli/run.ts";
import { plain, plainLines, progressText } from "../../cli/terminal_text.ts";
import {
  type CallToolResult,
  resultMeta,
  type SMCPTool,
  type ToolProgress,
  waitedFor,
  type Waiting,
} from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";
import {
  type ComputerFlags,
  noComputer,
  printJson,
  withAgent,
} from "./office.ts";
import { ambiguity, offering } from "../tools/find_tool.ts";
import { describePlace } from "./json_place.ts";
import { officeTools } from "./office_tools.ts";
import { readArguments } from "./tool_arguments.ts";
import { waitingFor } from "./waiting.ts";

/** Flags of `call`. */
export interface CallFlags extends ComputerFlags {
  /** Arguments by name, as written. */
  arg: [string, string][];
  /** All arguments as JSON, or its source: `@FILE`, or `-` for stdin. */
  params?: string;
  /** Seconds. */
  timeout: number;
}

/** Calls a tool and prints its result; the exit code is 1 if the tool fails. */
export async function call(tool: string, flags: CallFlags): Promise<void> {
  const given = flags.params === undefined
    ? undefined
    : await readParams(flags.params);
  const result = await withAgent(flags, async (agent, signal) => {
    const { computer, name, listed } = await find(agent, tool, flags, signal);
    const params = given ?? readPairs(flags.arg, listed);
    let progress = "";
    const follow = (told: ToolProgress) => {
      const text = plain(progressText(told));
      progress = text === "" ? "" : `${text}  `;
      if (told.waiting && !process.stderr.isTTY) console.error(text);
    };
    return await waitingFor(
      () =>
        `${progress}calling ${plain(tool)} on ${
          plain(computer)
        } (Ctrl-C cancels)`,
      agent.callTool(computer, name, params, {
        timeoutMs: flags.timeout * 1000,
        signal,
        onProgress: follow,
      }),
    );
  });
  if (flags.json) printJson(result);
  else printResult(result);
  if (result.isError) throw failure(tool, result);
}

async function readParams(source: string): Promise<Record<string, unknown>> {
  const json = source === "-"
    ? await text(process.stdin)
    : source.startsWith("@")
    ? await readFile(source.slice(1), "utf8").catch((error) => {
      throw new UsageError(
        `Cannot read --params ${source}: ${
          error.code === "ENOENT" ? "there is no such file" : error.message
        }`,
      );
    })
    : source;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(`--params is not JSON${describePlace(json, error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return { ...value };
  }
  throw new UsageError(
    `--params is no JSON object; write one such as '{"path": "."}'`,
  );
}

function readPairs(
  pairs: CallFlags["arg"],
  tool: SMCPTool | undefined,
): Record<string, unknown> {
  const { params, problems } = readArguments(pairs, tool?.params_schema);
  if (problems.length > 0) throw new UsageError(problems.join("; "));
  return params;
}

/**
 * Finds the tool that a name means, whole or without its `bundle_id`; a Computer that was named may
 * have tools that it does not list.
 */
async function find(
  agent: SmcpAgent,
  typed: string,
  { computer, office }: ComputerFlags,
  signal: AbortSignal,
): Promise<{ computer: string; name: string; listed: SMCPTool | undefined }> {
  const known = computer === undefined
    ? await officeTools(agent, signal)
    : new Map([[computer, await agent.getTools(computer, { signal })]]);
  if (known.size === 0) throw noComputer(office);
  const found = offering(known, typed);
  if (found.length > 1) {
    throw new UsageError(ambiguity(typed, found, "--computer"));
  }
  const [only] = found;
  if (only) {
    return { ...only, name: only.tool.name, listed: only.tool };
  }
  if (computer !== undefined) {
    return { computer, name: typed, listed: undefined };
  }
  throw new Error(
    `no Computer in the office offers the tool "${typed}"; the command "tools" lists what there is`,
  );
}

/** Prints a result: unchanged for programs, without control characters on a terminal. */
function printResult({ content, structuredContent }: CallToolResult): void {
  const shown = process.stdout.isTTY ? plainLines : (text: string) => text;
  for (const { type, text, ...rest } of content) {
    if (typeof text === "string") console.log(shown(text));
    else console.log(shown(`[${type}] ${summary(rest)}`));
  }
  if (content.length === 0 && structuredContent) printJson(structuredContent);
}

const summary = (fields: Record<string, unknown>): string =>
  Object.entries(fields).map(([key, value]) =>
    typeof value === "string" && value.length > 60
      ? `${key}: ${value.length} characters`
      : `${key}: ${JSON.stringify(value)}`
  ).join(", ");

/** Creates the error of a failed tool: the printed result has the reason, but perhaps no remedy. */
function failure(tool: string, result: CallToolResult): Error {
  const { error_code, a2c_timeout } = resultMeta(result);
  const waited = a2c_timeout === true ? waitedFor(result) : undefined;
  const remedy = waited ? NOBODY[waited] : REMEDIES[Number(error_code)];
  return new Error(
    `the tool "${tool}" failed${remedy === undefined ? "" : `; ${remedy}`}`,
  );
}

/** Remedies for calls in which a person at the Computer did not answer in time. */
const NOBODY: Readonly<Record<Waiting, string>> = {
  confirmation:
    "nobody confirmed it: somebody at the Computer has to answer its question, or its configuration allows the tool with auto_apply",
  answer:
    "nobody answered: somebody at the Computer has to, in its terminal or on its page (--ui)",
};

const REMEDIES: Readonly<Record<number, string>> = {
  4001: 'the command "tools" lists what there is',
  4002: "the Computer's configuration forbids it",
  4004: "give it more time with --timeout",
  4005:
    "somebody at the Computer has to allow it, or its configuration with auto_apply",
  4006: "somebody at the Computer has to sign in",
  4007: "somebody at the Computer has to sign in again",
};
