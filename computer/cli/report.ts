/**
 * The words for what happens on a Computer: of its events, its MCP servers' states and failures, and
 * how calls ended. All views use them, at the terminal and on the page.
 *
 * @module
 */
import type { SmcpComputer } from "../computer.ts";
import { isPlainName, MAX_PLAIN_NAME } from "../../shared/checks.ts";
import { hideSecrets } from "../util/secrets.ts";
import { relativeTime } from "../../shared/time/relative_time.ts";
import { nameText } from "../../shared/shown_text.ts";
import type { ListedPermission } from "../control/messages.ts";
import type {
  ServerFailure,
  ServerState,
  ServerStatus,
} from "../host/server_status.ts";
import type { Span } from "./screen.ts";
import type { ToolCallEnded, ToolCallStarted } from "../tools/events.ts";
import { ErrorCode, resultMeta } from "../../protocol/mod.ts";

/**
 * Reports the events of a Computer as lines.
 *
 * @param show receives one or more lines
 * @param brief leaves out what a live view already shows
 */
export function report(
  computer: SmcpComputer,
  show: (text: string) => void,
  brief: boolean,
): void {
  const note = (text: string) => show(hideSecrets(text));
  computer.on("disconnected", ({ reason, reconnecting }) => {
    if (reconnecting) note(`connection lost (${reason}), reconnecting`);
  });
  computer.on("rejoinFailed", ({ office, reason, retryInMs }) => {
    const next = `next attempt in ${(retryInMs / 1000).toFixed(1)} s`;
    note(`cannot join office ${office} again: ${reason}; ${next}`);
  });
  computer.on("joined", ({ office, rejoined }) => {
    const { name } = computer;
    if (!rejoined && !isPlainName(name)) {
      const quoted = JSON.stringify(name);
      note(
        `warning: MCP clients see another name than ${quoted} before its tools, with a hash; choose one of letters, digits and -, at most ${MAX_PLAIN_NAME} characters, with --name`,
      );
    }
    if (brief) return;
    note(`${rejoined ? "back in" : "joined"} office ${office} as ${name}`);
  });
  if (brief) return;
  computer.on("callEnded", (call) => {
    const how = howItEnded(call.result);
    const ms = Math.round(call.durationMs);
    note(
      `call of ${nameText(call.tool)} by ${callerText(call)}: ${how}, ${ms} ms`,
    );
  });
  computer.on("connected", () => {
    const { protocol } = computer.status();
    note(`connected to ${computer.url}, A2C-SMCP ${protocol}`);
  });
  let problems = new Set<string>();
  const noteProblems = () => {
    const now = computer.status().problems;
    for (const text of now) {
      if (!problems.has(text)) note(`problem: ${text}`);
    }
    problems = new Set(now);
  };
  computer.on("toolsChanged", noteProblems);
  computer.on("problemsChanged", noteProblems);
  computer.on("skillsChanged", () => {
    const { skills } = computer.status();
    note(`skills: ${skills.join(", ") || "none"}`);
    noteProblems();
  });
  const last = new Map<string, string>();
  computer.on("serverState", (status) => {
    const line = stateLine(status);
    // A server that cannot start is retried forever; its error is reported once.
    if (line === undefined || line === last.get(status.bundleId)) return;
    last.set(status.bundleId, line);
    note(line);
  });
}

/** Returns the name of an MCP server, with what identifies it where that is something else. */
export const serverLabel = (
  { name, bundleId }: Pick<ServerStatus, "name" | "bundleId">,
): string => bundleId === name ? name : `${name} (${bundleId})`;

/** The signs of the states of an MCP server. */
export const STATE_SIGNS: Readonly<Record<ServerState, Span>> = {
  running: ["●", "good"],
  starting: ["◌", "busy"],
  restarting: ["◌", "busy"],
  failed: ["✗", "bad"],
  stopped: ["○", "dim"],
  disabled: ["○", "dim"],
};

/** Describes a state of an MCP server; undefined if not worth reporting, as the start of an attempt. */
export function stateLine(
  { name, state, tools, error, nextAttempt, problems }: ServerStatus,
): string | undefined {
  const line = `MCP server ${name}: ${state}`;
  if (state === "running") {
    const head = `${line}, ${tools} ${tools === 1 ? "tool" : "tools"}`;
    return [head, ...problems].join("\n  ");
  }
  if (error === undefined) return line;
  if (nextAttempt) return `${line}: ${error}\n  it will be restarted`;
  return state === "failed" ? `${line}: ${error}` : undefined;
}

/** Describes who called, for a line of ours. */
export const callerText = (
  { agent, operator }: Pick<ToolCallStarted, "agent" | "operator">,
): string =>
  operator === undefined ? nameText(agent) : `operator ${nameText(operator)}`;

/** Identifies a call among those that run; a repeated request has the same. */
export const callKey = (
  { agent, reqId }: Pick<ToolCallStarted, "agent" | "reqId">,
): string => JSON.stringify([agent, reqId]);

/** How a call ended that not simply its caller has cancelled, in the words of the Server. */
const CANCELLED: ReadonlyMap<unknown, string> = new Map([
  ["agent_timeout", "timeout of the agent"],
  ["operator_requested", "cancelled by the operator"],
]);

/** Summarizes the outcome of a tool call in a word or two. */
export function howItEnded(result: ToolCallEnded["result"]): string {
  if (!result) return "refused";
  if (!result.isError) return "ok";
  const { error_code, a2c_cancelled, a2c_cancel_reason } = resultMeta(result);
  if (a2c_cancelled) return CANCELLED.get(a2c_cancel_reason) ?? "cancelled";
  if (error_code === ErrorCode.TOOL_TIMEOUT) return "timeout of the computer";
  return error_code === undefined ? "tool error" : `failed (${error_code})`;
}

/** Remedies for errors that do not name one. */
const REMEDIES: Readonly<Record<ServerFailure, string>> = {
  ended: "run its command by hand to see why",
  not_ready:
    "run its command by hand to see whether it is an MCP server, and what it waits for",
  unreachable: "is it running, and is its url right?",
  refused: "give it an Authorization header, or sign in when the Computer runs",
  not_found: "correct the path of its url",
  leads_back: "remove it from the configuration",
  not_executable: "make the program executable (chmod +x)",
};

/** Returns why an MCP server does not run, with a remedy; in one line unless it marks a place. */
export function describeFailure(
  { error, state, failure }: ServerStatus,
): string[] {
  if (error === undefined || state === "running") return [];
  if (/\n\s*\^/.test(error)) return [error]; // it marks a place with a caret
  const text = error.replaceAll(/\s*\n\s*/g, ": ");
  const hasRemedy = failure === undefined || text.includes(";");
  return [hasRemedy ? text : `${text}; ${REMEDIES[failure]}`];
}

/**
 * Listens to everything that changes the status of a Computer, but for its calls.
 *
 * @returns the functions that remove the listener
 */
export const onStatusChange = (
  computer: SmcpComputer,
  changed: () => void,
): (() => void)[] => STATUS_EVENTS.map((event) => computer.on(event, changed));

const STATUS_EVENTS = [
  "serverState",
  "toolsChanged",
  "skillsChanged",
  "problemsChanged",
  "configChanged",
  "permissionsChanged",
  "connected",
  "disconnected",
  "joined",
] as const;

/** Describes what is left of a permission; empty where its sentence has all of it. */
export const permissionLeft = (
  { usesLeft, untilMs }: Pick<ListedPermission, "usesLeft" | "untilMs">,
  now: number,
): string =>
  [
    ...usesLeft === undefined ? [] : [`${usesLeft} left`],
    ...untilMs === undefined
      ? []
      : [`ends ${relativeTime(new Date(untilMs).toISOString(), now)}`],
  ].join(", ");
