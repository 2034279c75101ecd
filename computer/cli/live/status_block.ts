import {
  pad,
  plain,
  plainLines,
  shorten,
  textWidth,
  wrap,
} from "../../../cli/terminal_text.ts";
import type { ComputerStatus } from "../../options.ts";
import type { ToolCallStarted } from "../../tools/call_events.ts";
import type { ServerState, ServerStatus } from "../../host/server_status.ts";
import { runningCall } from "./call_spans.ts";
import { paint, type ScreenLine, type Span, type Style } from "./paint.ts";

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
  const calls = callLines(live, look);
  const room = look.rows - head.length - calls.length;
  // Reasons are shown as far as there is room for them, the MCP servers before that.
  const bodies = [3, 1, 0].map((lines) => bodyLines(live, look, lines));
  const body = bodies.find(({ length }) => length <= room) ?? bodies.at(-1);
  return [...head, ...fit(body ?? [], room), ...calls].slice(0, look.rows)
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

/** @param lines how many of them the reason for each problem may take */
function bodyLines(
  { status: { servers, problems }, now }: LiveStatus,
  { columns }: BlockLook,
  lines: number,
): Span[][] {
  const widest = (texts: string[]) => Math.max(0, ...texts.map(textWidth));
  const name = Math.min(
    Math.floor(columns * 0.4),
    widest(servers.map(({ name }) => plain(name))),
  );
  const state = widest(servers.map(({ state }) => state));
  const reason = (text: string, style: Style): Span[][] =>
    atMost(lines, wrap(plainLines(text), columns - 8).split("\n"))
      .map((line) => [["      "], [line, style]]);
  return [
    ...failedFirst(servers).flatMap((server): Span[][] => [
      [
        ["  "],
        SIGNS[server.state],
        [` ${pad(shorten(plain(server.name), name), name)}  `],
        [pad(server.state, state), "dim"],
        ["  "],
        ...progress(server, now),
      ],
      ...server.error === undefined ? [] : reason(server.error, "bad"),
      ...server.problems.flatMap((text) => reason(text, "busy")),
    ]),
    ...problems.flatMap((text) =>
      atMost(
        Math.max(1, lines),
        wrap(plainLines(text), columns - 6).split("\n"),
      )
        .map((line, i): Span[] => [[i === 0 ? "  ! " : "    ", "bad"], [line]])
    ),
  ];
}

/** What somebody has to see to is not below what does not fit. */
const failedFirst = (servers: readonly ServerStatus[]): ServerStatus[] =>
  servers.toSorted((a, b) =>
    Number(b.state === "failed") - Number(a.state === "failed")
  );

/** The first of these lines; the last of them says when there are more. */
const atMost = (most: number, lines: readonly string[]): string[] =>
  lines.slice(0, most).map((line, i) =>
    i === most - 1 && lines.length > most ? `${line} …` : line
  );

/** What it offers, or when it is tried again. */
function progress(
  { state, tools, nextAttempt, restarts }: ServerStatus,
  now: number,
): Span[] {
  const seconds = nextAttempt &&
    Math.max(0, Math.ceil((nextAttempt.getTime() - now) / 1000));
  return [
    ...state === "running"
      ? [[tools === 1 ? " 1 tool" : `${`${tools}`.padStart(2)} tools`]] as const
      : [],
    ...seconds === undefined
      ? []
      : [[`again in ${seconds} s`, "busy"]] as const,
    ...restarts === 0 ? [] : [[`  restarts: ${restarts}`, "dim"]] as const,
  ];
}

function callLines(
  { calls, now }: LiveStatus,
  { columns }: BlockLook,
): Span[][] {
  const shown = calls.slice(0, MOST_CALLS)
    .map((call) => runningCall(call, { now, columns }));
  const more = calls.length - shown.length;
  return more > 0 ? [...shown, [[`  ▸ ${more} calls more`, "dim"]]] : shown;
}

/** Drops the last lines where there are too many, and says how many. */
function fit(lines: readonly Span[][], room: number): Span[][] {
  if (lines.length <= room) return [...lines];
  const kept = lines.slice(0, Math.max(0, room - 1));
  return [...kept, [[`  … and ${lines.length - kept.length} more`, "dim"]]];
}
