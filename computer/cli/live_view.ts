/**
 * The live view of `run`: a block at the end of the terminal with connection, MCP servers, problems,
 * permissions and running calls. It is drawn again when the Computer reports a change, and each second while it shows
 * a duration.
 *
 * @module
 */
import {
  brief,
  pad,
  plainLines,
  progressText,
  shorten,
  textWidth,
  UNITS_PER_COLUMN,
  wrap,
  wrappedLines,
} from "../../cli/terminal_text.ts";
import { nameText } from "../../shared/shown_text.ts";
import type { ToolProgress } from "../../protocol/mod.ts";
import { waitingText } from "../../protocol/payloads/tools.ts";
import type { ComputerStatus, SmcpComputer } from "../computer.ts";
import type {
  ToolCallAdvanced,
  ToolCallEnded,
  ToolCallStarted,
} from "../tools/events.ts";
import type { ServerStatus } from "../host/server_status.ts";
import { permissionText } from "./question_text.ts";
import type { Permission } from "../rules/permissions.ts";
import {
  callerText,
  callKey,
  howItEnded,
  onStatusChange,
  permissionLeft,
  serverLabel,
  STATE_SIGNS,
} from "./report.ts";
import {
  type Canvas,
  LiveBlock,
  type Look,
  paint,
  type Span,
  startOfNote,
  type Style,
  type View,
} from "./screen.ts";

/** Redraw interval while a duration is shown. */
const TICK_MS = 1_000;
/** Redraw interval while minutes are shown. */
const MINUTE_TICK_MS = 20_000;

/**
 * Shows the status of a Computer in a block at the end of the terminal; ended calls and notes are
 * printed above it.
 *
 * @param colour whether to use colours
 */
export function liveView(
  computer: SmcpComputer,
  canvas: Canvas,
  colour: boolean,
): View {
  const calls = new Map<string, RunningCall>();
  const block = new LiveBlock(canvas, ({ columns, rows }) => {
    const status = computer.status();
    const permissions = computer.permissions.list();
    return {
      lines: statusBlock({
        status,
        url: computer.url,
        permissions,
        calls: [...calls.values()],
        now: Date.now(),
        columns,
        rows,
        colour,
      }),
      againIn: againIn(calls.size, status, permissions),
    };
  });
  const changed = () => block.changed();
  const advanced = ({ progress, ...call }: ToolCallAdvanced) => {
    const key = callKey(call);
    const running = calls.get(key);
    if (running) calls.set(key, { ...running, progress });
    changed();
  };
  const offs = [
    ...onStatusChange(computer, changed),
    computer.on("callStarted", (call) => {
      calls.set(callKey(call), { ...call, since: Date.now() });
      changed();
    }),
    computer.on("callProgress", advanced),
    computer.on("callWaiting", ({ waiting, ...call }) => {
      const message = waiting && waitingText(waiting, computer.name);
      const progress = { progress: 0, waiting, ...(message && { message }) };
      advanced({ ...call, progress });
    }),
    computer.on("callEnded", (call) => {
      calls.delete(callKey(call));
      const { columns } = block.screen;
      block.print(paint(endedCall(call, columns), { columns, colour }));
    }),
  ];
  return {
    note: (text) =>
      block.print(wrap(plainLines(startOfNote(text)), block.screen.columns)),
    asking: (question) => block.asking(question),
    close: () => {
      block.close();
      offs.forEach((off) => off());
    },
  };
}

/** Returns when durations that are shown have changed; undefined where there is none. */
function againIn(
  calls: number,
  { servers }: ComputerStatus,
  permissions: readonly Permission[],
): number | undefined {
  const isTimed = calls > 0 || servers.some(({ nextAttempt }) => nextAttempt);
  if (isTimed) return TICK_MS;
  const isEnding = permissions.some(({ untilMs }) => untilMs !== undefined);
  return isEnding ? MINUTE_TICK_MS : undefined;
}

/** A running tool call. */
interface RunningCall extends ToolCallStarted {
  /** Start time in milliseconds since the epoch. */
  readonly since: number;
  /** Its progress, if its Agent asked for that. */
  readonly progress?: ToolProgress;
}

/** The content of the block, and how it is drawn. */
interface LiveStatus extends Look {
  /** Status of the Computer. */
  readonly status: ComputerStatus;
  /** URL of the Server. */
  readonly url: string;
  /** What was allowed beyond the rules, oldest first. */
  readonly permissions: readonly Permission[];
  /** Running calls, oldest first. */
  readonly calls: readonly RunningCall[];
  /** Current time in milliseconds since the epoch. */
  readonly now: number;
  /** The maximum height. */
  readonly rows: number;
}

const MAX_SHOWN_CALLS = 5;

/** Renders the status of a Computer: connection, office, MCP servers, problems, permissions, running calls. */
export function statusBlock(live: LiveStatus): string[] {
  const rule: Span = ["─".repeat(live.columns), "dim"];
  const head = [[rule], connectionLine(live)];
  const calls = callLines(live);
  const given = permissionLines(live);
  // Of permissions the number comes first; their sentences get the lines that are left.
  const count = given.slice(0, 1);
  const room = live.rows - head.length - calls.length - count.length;
  // MCP servers come first; their errors get as many lines as fit.
  const bodies = [3, 1, 0].map((lines) => bodyLines(live, lines));
  const body = bodies.find(({ length }) => length <= room) ?? bodies.at(-1);
  const shown = fit(body ?? [], room);
  const sentences = fit(given.slice(1), room - shown.length);
  return [...head, ...shown, ...count, ...sentences, ...calls]
    .slice(0, live.rows)
    .map((spans) => paint(spans, live));
}

/** Describes how many permissions there are, and each of them; nothing where there is none. */
function permissionLines({ permissions, now, columns }: LiveStatus): Span[][] {
  const { length } = permissions;
  if (length === 0) return [];
  return [
    [
      ["  ✓ ", "good"],
      [length === 1 ? "1 permission" : `${length} permissions`],
      ["  smcp-computer rules removes them", "dim"],
    ],
    ...permissions.map((permission): Span[] => {
      const left = permissionLeft(permission, now);
      const end = left === "" ? "" : `  (${left})`;
      const room = columns - INDENT.length - textWidth(end);
      return [[INDENT], [brief(permissionText(permission), room)], [
        end,
        "dim",
      ]];
    }),
  ];
}

const INDENT = "    ";

function connectionLine({ status, url }: LiveStatus): Span[] {
  const { connection, protocol, office, name, skills } = status;
  const signs: Partial<Record<typeof connection, Style>> = {
    connected: "good",
    closed: "bad",
  };
  const style = signs[connection] ?? "busy";
  return [
    [style === "busy" ? "◌ " : "● ", style],
    [`${connection === "idle" ? "not connected" : connection} `, style],
    [url],
    [`  A2C-SMCP ${protocol}`, "dim"],
    ["  office ", "dim"],
    [office ?? "none", "bold"],
    ["  as ", "dim"],
    [name],
    [skills.length > 0 ? "  skills " : "", "dim"],
    [`${skills.length || ""}`],
  ];
}

/** @param lines maximum lines of the text of each problem */
function bodyLines(
  { status: { servers, problems }, now, columns }: LiveStatus,
  lines: number,
): Span[][] {
  const widest = (texts: string[]) => Math.max(0, ...texts.map(textWidth));
  const name = Math.min(
    Math.floor(columns * 0.4),
    widest(servers.map((server) => brief(serverLabel(server), columns))),
  );
  const state = widest(servers.map(({ state }) => state));
  const reason = (text: string, style: Style): Span[][] =>
    atMost(lines, text, columns - 8)
      .map((line) => [["      "], [line, style]]);
  const isFailed = ({ state }: ServerStatus) => Number(state === "failed");
  const failedFirst = servers.toSorted((a, b) => isFailed(b) - isFailed(a)); // they are not cut off
  return [
    ...failedFirst.flatMap((server): Span[][] => [
      [
        ["  "],
        STATE_SIGNS[server.state],
        [` ${pad(brief(serverLabel(server), name), name)}  `],
        [pad(server.state, state), "dim"],
        ["  "],
        ...progress(server, now),
      ],
      ...server.error === undefined ? [] : reason(server.error, "bad"),
      ...server.problems.flatMap((text) => reason(text, "busy")),
    ]),
    ...problems.flatMap((text) =>
      atMost(Math.max(1, lines), text, columns - 6)
        .map((line, i): Span[] => [[i === 0 ? "  ! " : "    ", "bad"], [line]])
    ),
  ];
}

/** Wraps a text, and returns the first lines; the last of them is marked if there are more. */
function atMost(limit: number, text: string, columns: number): string[] {
  if (limit === 0) return [];
  const seen = plainLines(text.slice(0, UNITS_PER_COLUMN * columns * limit));
  const lines: string[] = [];
  for (const line of wrappedLines(seen, columns)) {
    if (lines.length === limit) {
      return [...lines.slice(0, -1), `${lines.at(-1)} …`];
    }
    lines.push(line);
  }
  return lines;
}

/** Describes the number of tools, the time of the next attempt, and restarts. */
function progress(
  { state, tools, nextAttempt, restarts }: ServerStatus,
  now: number,
): Span[] {
  const seconds = nextAttempt &&
    Math.max(0, Math.ceil((nextAttempt.getTime() - now) / 1000));
  const count = tools === 1 ? " 1 tool" : `${`${tools}`.padStart(2)} tools`;
  return [
    [state === "running" ? count : ""],
    [seconds === undefined ? "" : `again in ${seconds} s`, "busy"],
    [restarts === 0 ? "" : `  restarts: ${restarts}`, "dim"],
  ];
}

function callLines({ calls, now, columns }: LiveStatus): Span[][] {
  const shown = calls.slice(0, MAX_SHOWN_CALLS).map((call): Span[] => [
    ["  ▸ ", "busy"],
    ...who(call, columns),
    [`  ${Math.floor((now - call.since) / 1000)} s`, "dim"],
    [call.progress ? `  ${progressText(call.progress)}` : ""],
  ]);
  const more = calls.length - shown.length;
  return more > 0 ? [...shown, [[`  ▸ ${more} more calls`, "dim"]]] : shown;
}

/** Drops lines that do not fit, and adds their number. */
function fit(lines: readonly Span[][], room: number): Span[][] {
  if (lines.length <= room) return [...lines];
  if (room < 1) return [];
  const kept = lines.slice(0, Math.max(0, room - 1));
  return [...kept, [[`  … and ${lines.length - kept.length} more`, "dim"]]];
}

/** Formats an ended tool call. */
function endedCall(call: ToolCallEnded, columns: number): Span[] {
  const good = call.result !== undefined && !call.result.isError;
  return [
    [`${new Date().toTimeString().slice(0, 8)} `, "dim"],
    good ? ["✓ ", "good"] : ["✗ ", "bad"],
    ...who(call, columns),
    [good ? "" : `  ${howItEnded(call.result)}`, "bad"],
    [`  ${Math.round(call.durationMs)} ms`, "dim"],
  ];
}

/** Shortens long names, to leave room for the rest of the line. */
const who = (call: ToolCallStarted, columns: number): Span[] => {
  const room = Math.max(10, columns - 42);
  return [
    [shorten(nameText(call.tool), Math.ceil(room * 0.6)), "bold"],
    [" by ", "dim"],
    [shorten(callerText(call), Math.floor(room * 0.4))],
  ];
};
