import { plain, progressText, shorten } from "../../../cli/terminal_text.ts";
import type { ToolProgress } from "../../../protocol/mod.ts";
import { callerText, howItEnded } from "./lines.ts";
import type { ToolCallEnded, ToolCallStarted } from "../../tools/events.ts";
import type { Span } from "./paint.ts";

/** Formats a running tool call. */
export const runningCall = (
  call: ToolCallStarted & {
    readonly since: number;
    readonly progress?: ToolProgress;
  },
  { now, columns }: { now: number; columns: number },
): Span[] => [
  ["  ▸ ", "busy"],
  ...who(call, columns),
  [`  ${Math.floor((now - call.since) / 1000)} s`, "dim"],
  ...call.progress ? [[`  ${progressText(call.progress)}`]] as const : [],
];

/** Formats an ended tool call. */
export function endedCall(
  call: ToolCallEnded,
  { at, columns }: { at: Date; columns: number },
): Span[] {
  const good = call.result !== undefined && !call.result.isError;
  return [
    [`${at.toTimeString().slice(0, 8)} `, "dim"],
    good ? ["✓ ", "good"] : ["✗ ", "bad"],
    ...who(call, columns),
    ...good ? [] : [[`  ${howItEnded(call.result)}`, "bad"]] as const,
    [`  ${Math.round(call.durationMs)} ms`, "dim"],
  ];
}

/** Shortens long names, to leave room for the rest of the line. */
const who = (call: ToolCallStarted, columns: number): Span[] => {
  const room = Math.max(10, columns - 42);
  const name = shorten(plain(call.tool), Math.ceil(room * 0.6));
  return [
    [name, "bold"],
    [" by ", "dim"],
    [shorten(callerText(call), Math.floor(room * 0.4))],
  ];
};
