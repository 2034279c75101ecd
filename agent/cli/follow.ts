import { print, printError, printJson } from "../../cli/print.ts";
import { onAbort } from "../../shared/async.ts";
import { present } from "../../shared/checks.ts";
import { plain, plainLines } from "../../cli/terminal_text.ts";
import { type Notification, NOTIFICATIONS } from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";
import { agentEventOf } from "../events.ts";
import type { GetDesktopOptions } from "../options.ts";
import {
  atComputer,
  type ComputerFlags,
  type OfficeFlags,
  withAgent,
  withSeat,
} from "./office.ts";

/** Flags of `desktop`. */
interface DesktopFlags extends ComputerFlags {
  /** Show the windows again after each change. */
  follow?: boolean;
  /** Maximum number of windows. */
  size?: number;
  /** Only the window with this URI. */
  window?: string;
}

/** Prints the windows of a Computer, once or after each change. */
export async function desktop(flags: DesktopFlags): Promise<void> {
  const { size, window, follow, json } = flags;
  await atComputer(flags, async (agent, computer, signal) => {
    const options = { ...present({ size, window }), signal };
    if (follow) {
      return await followWindows(agent, computer, options, json === true);
    }
    const windows = await agent.getDesktop(computer, options);
    if (json) printJson(windows);
    else printWindows(windows);
  }, follow ? withSeat : withAgent);
}

async function followWindows(
  agent: SmcpAgent,
  computer: string,
  options: GetDesktopOptions & { signal: AbortSignal },
  json: boolean,
): Promise<void> {
  try {
    for await (const windows of agent.followDesktop(computer, options)) {
      if (json) printJson(windows, 0);
      else {
        print(`== ${time()}  ${plain(computer)}`);
        printWindows(windows);
      }
    }
  } catch (error) {
    if (!options.signal.aborted) throw error; // Ctrl-C ends following
  }
}

function printWindows(windows: readonly string[]): void {
  if (windows.length === 0) print("The desktop is empty.");
  else print(windows.map(plainLines).join("\n\n---\n\n"));
}

/** Prints every notification of the office until Ctrl-C, one line each. */
export async function watch(flags: OfficeFlags): Promise<void> {
  await withSeat(flags, async (agent, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    listen(agent, flags.json === true, reject);
    onAbort(signal, resolve);
    printError(`watching the office "${plain(flags.office)}" (Ctrl-C ends it)`);
    await promise;
  });
}

function listen(
  agent: SmcpAgent,
  json: boolean,
  lost: (error: Error) => void,
): void {
  const show = (event: string, payload: object) =>
    json
      ? printJson({ time: new Date().toISOString(), event, payload }, 0)
      : print(`${time()}  ${event}  ${fields(payload)}`);
  for (const event of Object.keys(NOTIFICATIONS) as Notification[]) {
    agent.on(agentEventOf(event), (payload) => show(event, payload));
  }
  agent.on("disconnected", ({ reason, reconnecting }) => {
    if (reconnecting) show("disconnected", { reason });
    else lost(new Error(`disconnected for good: ${reason}`));
  });
  agent.on("joined", ({ office, rejoined }) => {
    if (rejoined) show("joined again", { office });
  });
}

const fields = (payload: object): string =>
  Object.entries(payload).map(([key, value]) =>
    `${key}=${plain(typeof value === "string" ? value : JSON.stringify(value))}`
  ).join(" ");

const time = (): string => new Date().toTimeString().slice(0, 8);
