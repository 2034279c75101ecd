import process from "node:process";
import { plainLines, wrap } from "../../../cli/terminal_text.ts";
import { waitingText } from "../../../protocol/mod.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { ToolCallAdvanced } from "../../tools/events.ts";
import { endedCall } from "./call_spans.ts";
import { paint } from "./paint.ts";
import { type Canvas, Screen } from "./screen.ts";
import { type RunningCall, statusBlock } from "./status_block.ts";
import { onStatusChange } from "./status_changes.ts";
import type { View } from "./view.ts";

/** Changes within this time are drawn together. */
const REDRAW_DELAY_MS = 50;
/** Redraw interval while a duration is shown. */
const TICK_MS = 1_000;

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
  const screen = new Screen(canvas);
  const calls = new Map<string, RunningCall>();
  let notes: string[] = [];
  let asked = 0;
  let closed = false;
  let timer: { id: ReturnType<typeof setTimeout>; at: number } | undefined;

  const draw = () => {
    timer = undefined;
    if (asked > 0 || closed) return;
    const { url } = computer;
    const status = computer.status();
    const { columns, rows } = screen;
    const above = notes.join("\n");
    notes = [];
    screen.draw(
      statusBlock(
        { status, url, calls: [...calls.values()], now: Date.now() },
        { columns, rows, colour },
      ),
      above,
    );
    const timed = calls.size > 0 ||
      status.servers.some(({ nextAttempt }) => nextAttempt);
    if (timed) drawIn(TICK_MS);
  };
  const drawIn = (milliseconds: number) => {
    const at = performance.now() + milliseconds;
    if (closed || timer && timer.at <= at) return;
    clearTimeout(timer?.id);
    timer = { at, id: setTimeout(draw, milliseconds) };
  };
  const clear = () => {
    clearTimeout(timer?.id);
    timer = undefined;
    screen.draw([], notes.join("\n"));
    notes = [];
  };
  const changed = () => drawIn(REDRAW_DELAY_MS);
  const advanced = ({ progress, ...call }: ToolCallAdvanced) => {
    const key = JSON.stringify([call.agent, call.reqId]);
    const running = calls.get(key);
    if (running) calls.set(key, { ...running, progress });
    changed();
  };
  const resumed = () => {
    screen.leave(); // the shell wrote below the block after Ctrl-Z
    changed();
  };
  const offs = [
    ...onStatusChange(computer, changed),
    computer.on("callStarted", (call) => {
      calls.set(JSON.stringify([call.agent, call.reqId]), {
        ...call,
        since: Date.now(),
      });
      changed();
    }),
    computer.on("callProgress", advanced),
    computer.on("callWaiting", ({ waiting, ...call }) => {
      const message = waiting && waitingText(waiting, computer.name);
      advanced({
        ...call,
        progress: { progress: 0, waiting, ...(message && { message }) },
      });
    }),
    computer.on("callEnded", (call) => {
      calls.delete(JSON.stringify([call.agent, call.reqId]));
      const { columns } = screen;
      const line = endedCall(call, { at: new Date(), columns });
      notes.push(paint(line, { columns, colour }).coloured);
      changed();
    }),
    () => canvas.off("resize", changed),
    () => process.off("SIGCONT", resumed),
  ];
  canvas.on("resize", changed);
  process.on("SIGCONT", resumed);
  draw();
  return {
    note: (text) => {
      notes.push(wrap(plainLines(text), screen.columns));
      if (closed) clear();
      else changed();
    },
    asking: async (question) => {
      if (asked++ === 0) clear();
      try {
        return await question();
      } finally {
        asked--;
        changed();
      }
    },
    close: () => {
      if (closed) return;
      clear();
      closed = true;
      offs.forEach((off) => off());
    },
  };
}
