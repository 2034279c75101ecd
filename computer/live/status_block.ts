import {
  pad,
  plain,
  shorten,
  textWidth,
} from "../../protocol/cli/terminal_text.ts";
import type { ComputerStatus, ToolCallStarted } from "../options.ts";
import type { ServerState, ServerStatus } from "../server_status.ts";
import type { ScreenLine } from "./screen.ts";

/** A tool call that is running. */
export interface RunningCall extends ToolCallStarted {
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** All that the block shows. */
export interface LiveStatus {
  /** Of the Computer. */
  readonly status: ComputerStatus;
  /** Address of the Server. */
  readonly url: string;
  /** In the order in which they began. */
  readonly calls: readonly RunningCall[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** How the block may look. */
export interface BlockLook {
  /** Its greatest width. */
  readonly columns: number;
  /** Its greatest height. */
  readonly rows: number;
  /** Whether it has colours. */
  readonly colour: boolean;
}

type Style = "good" | "bad" | "busy" | "dim" | "bold";
type Span = readonly [text: string, style?: Style];

const CODES: Readonly<Record<Style, number>> = {
  good: 32,
  bad: 31,
  busy: 33,
  dim: 2,
  bold: 1,
};

const SIGNS: Readonly<Record<ServerState, Span>> = {
  running: ["●", "good"],
  starting: ["◌", "busy"],
  restarting: ["◌", "busy"],
  failed: ["✗", "bad"],
  stopped: ["○", "dim"],
  disabled: ["○", "dim"],
};

/** The most calls that are shown one by one. */
const MOST_CALLS = 5;

/** Draws how a Computer is doing: connection, office, MCP servers, problems, running calls. */
export function statusBlock(
  live: LiveStatus,
  look: BlockLook,
): ScreenLine[] {
  const head = [
    [["─".repeat(look.columns), "dim"]],
    connectionLine(live),
  ] as const;
  const calls = callLines(live);
  const problems = live.status.problems.map((text): Span[] => [
    ["! ", "bad"],
    [text],
  ]);
  const room = look.rows - head.length - calls.length;
  const servers = serverLines(live);
  const body = fit([...servers, ...problems], room);
  return [...head, ...body, ...calls].slice(0, look.rows)
    .map((spans) => paint(spans, look));
}

function connectionLine({ status, url }: LiveStatus): Span[] {
  const { connection, office, name } = status;
  const signs: Partial<Record<typeof connection, Style>> = {
    connected: "good",
    closed: "bad",
  };
  const style = signs[connection] ?? "busy";
  return [
    [style === "busy" ? "◌ " : "● ", style],
    [`${connection === "idle" ? "not connected" : connection} `, style],
    [url],
    ["  office ", "dim"],
    [office ?? "none", "bold"],
    ["  as ", "dim"],
    [name],
  ];
}

function serverLines({ status, now }: LiveStatus): Span[][] {
  const { servers } = status;
  const widest = (texts: string[]) => Math.max(0, ...texts.map(textWidth));
  const name = Math.min(30, widest(servers.map(({ name }) => plain(name))));
  const state = widest(servers.map(({ state }) => state));
  return servers.map((server) => [
    ["  "],
    SIGNS[server.state],
    [` ${pad(shorten(plain(server.name), name), name)}  `],
    [pad(server.state, state), "dim"],
    [`  ${toolCount(server)}`],
    ...whatIsWrong(server, now),
  ]);
}

function toolCount({ state, tools }: ServerStatus): string {
  if (state !== "running") return " ".repeat(9);
  return (tools === 1 ? "1 tool " : `${tools} tools`).padStart(9);
}

function whatIsWrong(
  { error, nextAttempt, problems, restarts }: ServerStatus,
  now: number,
): Span[] {
  const seconds = nextAttempt &&
    Math.max(0, Math.ceil((nextAttempt.getTime() - now) / 1000));
  return [
    ...seconds === undefined
      ? []
      : [[`  again in ${seconds} s`, "busy"]] as const,
    ...restarts === 0 ? [] : [[`  restarts: ${restarts}`, "dim"]] as const,
    ...error === undefined ? [] : [[`  ${error}`, "bad"]] as const,
    ...problems.map((text) => [`  ${text}`, "busy"] as const),
  ];
}

function callLines({ calls, now }: LiveStatus): Span[][] {
  const shown = calls.slice(0, MOST_CALLS).map(({ tool, agent, since }) =>
    [
      ["  ▸ ", "busy"],
      [tool, "bold"],
      [` by ${agent}`],
      [`  ${Math.floor((now - since) / 1000)} s`, "dim"],
    ] satisfies Span[]
  );
  const more = calls.length - shown.length;
  return more > 0 ? [...shown, [[`  ▸ ${more} calls more`, "dim"]]] : shown;
}

/** Drops the last lines where there are too many, and says how many. */
function fit(lines: readonly Span[][], room: number): Span[][] {
  if (lines.length <= room) return [...lines];
  const kept = lines.slice(0, Math.max(0, room - 1));
  return [...kept, [[`  … and ${lines.length - kept.length} more`, "dim"]]];
}

function paint(
  spans: readonly Span[],
  { columns, colour }: BlockLook,
): ScreenLine {
  let text = "";
  let coloured = "";
  for (const [span, style] of spans) {
    const rest = columns - textWidth(text);
    if (rest <= 0) break;
    const part = shorten(plain(span), rest);
    text += part;
    coloured += colour && style ? `\x1b[${CODES[style]}m${part}\x1b[0m` : part;
  }
  return { text: text.trimEnd(), coloured };
}
