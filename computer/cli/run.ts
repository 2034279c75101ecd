import process from "node:process";
import { print } from "../../cli/print.ts";
import { explainFailure } from "../../cli/explain_failure.ts";
import { backoff } from "../../client/wire.ts";
import { ConnectionError, isDenied, isFinal } from "../../client/errors.ts";
import { type MCPServerConfig, ProtocolError } from "../../protocol/mod.ts";
import { sleep } from "../../shared/async.ts";
import type { SmcpComputer } from "../computer.ts";
import type { ComputerConfig } from "../config/config.ts";
import { watchConfig } from "../config/load_config.ts";
import { liveView } from "./live_view.ts";
import { TurnView, type View } from "./screen.ts";
import {
  type ComputerFlags,
  loadHostConfig,
  makeComputer,
} from "./make_computer.ts";
import { logTo, logWritten, survive, toStderr } from "./logging.ts";
import { report } from "./report.ts";
import { firstSignal } from "../../cli/signals.ts";
import { devicesOf, openControl } from "./control/serve_control.ts";
import { isPageEnabled, Page, type PageFlags } from "./ui/page.ts";

/** The flags of `run`. */
export interface RunFlags extends ComputerFlags, PageFlags {
  /** The configuration file. */
  config: string;
  /** The office to join. */
  office: string;
  /** Reload the configuration when its file changes. */
  watch?: boolean;
  /** Print lines instead of a live view. */
  plain?: boolean;
  /** The URL by which devices reach the Server, where it is not that of the Computer. */
  publicUrl?: string;
  /** Wait for a Server that cannot be reached yet; absent where there is no such option. */
  wait?: boolean;
}

/** Hosts the MCP servers of a configuration file until a signal arrives; throws errors that need the user. */
export const run = async (flags: RunFlags): Promise<void> =>
  await host(flags, await loadHostConfig(flags.config, flags.input));

/**
 * Hosts the MCP servers of a configuration until a signal arrives.
 *
 * @param loaded the content of the configuration file
 * @throws {Error} what the user has to repair
 */
export async function host(
  flags: RunFlags,
  loaded: ComputerConfig<MCPServerConfig>,
): Promise<void> {
  const { office } = flags;
  await logTo(toStderr);
  survive();
  let view: View = new TurnView(print);
  const note = (text: string) => view.note(text);
  const page = isPageEnabled(flags)
    ? new Page(flags.uiPort ?? 0, note)
    : undefined;
  const devices = await devicesOf(flags, note);
  const computer = makeComputer(flags, loaded, () => view, { page, devices });
  const stopped = firstSignal();
  const control = await openControl(computer, devices, flags, note);
  const ended = new AbortController();
  let watching: Disposable | undefined;
  try {
    const { stdout, env } = process;
    const live = stdout.isTTY && !flags.plain && env.TERM !== "dumb";
    if (live) {
      view.close();
      view = liveView(computer, stdout, !env.NO_COLOR);
      await logTo(note);
    }
    report(computer, note, live);
    if (page) view.note(`page: ${await page.serve(computer)}`);
    if (flags.watch) watching = await follow(flags, loaded, computer, view);
    const served = connect(computer, flags, note, ended.signal)
      .then(() => serve(computer, office));
    await Promise.race([stopped, served]);
    view.close();
    print("stopping");
  } finally {
    ended.abort();
    view.close();
    watching?.[Symbol.dispose]();
    await control.close();
    await page?.close();
    await computer.close();
    await devices.close();
    await logWritten();
  }
}

/**
 * Connects; with `--wait`, tries again until a Server is there.
 *
 * @param note receives why it waits, once for each reason
 * @param signal ends the wait
 */
async function connect(
  computer: SmcpComputer,
  { wait }: RunFlags,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let noted: string | undefined;
  for (let attempt = 0;; attempt++) {
    try {
      return await computer.connect();
    } catch (error) {
      if (!isAbsent(error) || wait === undefined) throw error;
      const why = explainFailure(error);
      if (!wait) {
        throw new Error(`${why}; or wait until it is there, with --wait`, {
          cause: error,
        });
      }
      if (why !== noted) note(`waiting for the Server: ${why}`);
      noted = why;
    }
    await sleep(backoff(attempt, Math.random()), signal);
  }
}

/** Returns whether a Server may be there later: it, or the proxy to it, was not reached or failed itself. */
const isAbsent = (error: unknown): boolean =>
  error instanceof ConnectionError &&
    (error.code === "unreachable" || error.code === "proxy") &&
    !isDenied(error.cause) ||
  error instanceof ProtocolError && !isFinal(error);

/** Joins the office; rejects when the Server refuses or dismisses this Computer, and never resolves. */
async function serve(computer: SmcpComputer, office: string): Promise<void> {
  const dismissed = Promise.withResolvers<never>();
  computer.on("disconnected", ({ reason, reconnecting }) => {
    if (reconnecting) return;
    dismissed.reject(new Error(`disconnected permanently: ${reason}`));
  });
  await Promise.race([dismissed.promise, computer.join(office)]);
  await dismissed.promise;
}

/** Applies every valid version of the file. */
const follow = (
  { config: file }: RunFlags,
  loaded: ComputerConfig<MCPServerConfig>,
  computer: SmcpComputer,
  view: View,
): Promise<Disposable> => {
  let rules = JSON.stringify(loaded.rules);
  return watchConfig(file, {
    changed: async (config) => {
      const before = rules;
      rules = JSON.stringify(config.rules);
      const isRuled = rules !== before;
      const { add, update, remove } = await computer.configure(config);
      const lines = [
        ...isRuled ? ["other rules"] : [],
        ...add.map(({ name }) => `added ${name}`),
        ...update.map(({ name }) => `replaced ${name}`),
        ...remove.map((name) => `removed ${name}`),
      ];
      if (lines.length > 0) view.note(`configuration: ${lines.join(", ")}`);
    },
    refused: (reason) =>
      view.note(
        `kept the previous configuration; the new one is invalid:\n${reason}`,
      ),
  });
};
