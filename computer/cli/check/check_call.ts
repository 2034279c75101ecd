import { print, printJson } from "../../../cli/print.ts";
import { UsageError } from "../../../cli/run.ts";
import { plain } from "../../../cli/terminal_text.ts";
import { isRecord } from "../../../protocol/names.ts";
import { OPERATOR_AGENT } from "../../../protocol/payloads/tools.ts";
import { isOpenEnded } from "../../tools/asked_call.ts";
import { partsOf, type ToolHost } from "../../tool_host.ts";
import { type CheckFlags, hostFor } from "./check.ts";
import { logTo } from "../logging.ts";
import { loadHostConfig } from "../make_computer.ts";
import { plainView } from "../screen.ts";

/** The flags of `check` about one call. */
export interface CheckCallFlags extends CheckFlags {
  /** The name of the tool. */
  call?: string;
  /** The arguments, as JSON. */
  params?: string;
  /** The name of the Agent that would call. */
  agent?: string;
}

/** Starts the MCP servers, and prints which rule decides on a call, and why. */
export async function checkCall(
  flags: CheckCallFlags & { readonly call: string },
): Promise<void> {
  const params = readParams(flags.params ?? "{}");
  const config = await loadHostConfig(flags.config, flags.input);
  await logTo(() => {}); // `check` without a call is about what does not start
  const tools = hostFor(flags, config, plainView(() => {}));
  try {
    await tools.start();
    const { call: name, agent = "agent" } = flags;
    const found = judgeCall(tools, { name, agent, params });
    if (flags.json) printJson(found);
    else linesOf(found).forEach((line) => print(line));
  } finally {
    await tools.close();
  }
}

/** @throws {UsageError} when it is no JSON object */
function readParams(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isRecord(value)) return value;
  throw new UsageError(
    `--params ${text}: expected a JSON object, such as '{"path": "/srv/a"}'`,
  );
}

/** What would become of a call, as `--json` prints it. */
type JudgedCall = ReturnType<typeof judgeCall>;

/** @throws {Error} when there is no such tool, or it cannot be called */
function judgeCall(
  tools: ToolHost,
  { name, agent, params }: {
    readonly name: string;
    readonly agent: string;
    readonly params: Record<string, unknown>;
  },
) {
  const { hosting: { host }, calls: { confirmations } } = partsOf(tools);
  const resolved = host.resolve(host.nameToCall(name));
  if (resolved.kind === "refuse") throw new Error(resolved.text);
  const { target } = resolved;
  const operator = agent === OPERATOR_AGENT && { operator: agent };
  const pending = { target, name: target.name, agent, ...operator, params };
  const { rule } = confirmations.judge(pending);
  return {
    tool: target.tool.name,
    server: target.server.name,
    agent,
    /** What happens to the call: it runs, a person is asked, or it is answered 4005. */
    then: rule.then,
    rule: { id: rule.id, text: rule.text },
    every: rule.every === true,
    /** Whether a yes to it can hold for later calls, too. */
    isAllowedOnceOnly: rule.then === "ask" &&
      (rule.every === true || isOpenEnded(target.tool, params)),
    /** The rules before it, and why they do not decide. */
    passed: confirmations.passed(pending),
  };
}

const linesOf = (
  { tool, server, agent, then, rule, isAllowedOnceOnly, passed }: JudgedCall,
): string[] => [
  `${WORDS[then]}: tool ${quote(tool)} of MCP server ${
    quote(server)
  }, called by ${quote(agent)}`,
  `decided by ${plain(rule.id)}: ${plain(rule.text)}`,
  ...isAllowedOnceOnly ? ["a yes is for this call alone"] : [],
  ...passed.map(({ id, why }) => `not by ${plain(id)}: ${plain(why)}`),
];

const WORDS = {
  allow: "runs without a question",
  ask: "a person is asked",
  deny: "denied, answered 4005",
};

const quote = (name: string): string => plain(JSON.stringify(name));
