/**
 * The desktop (protocol §8.1): the windows of all MCP servers are read, ordered and rendered.
 *
 * @module
 */
import { fieldsOf, isGiven, isWindow, quote, withoutQuery } from "./listed.ts";
import {
  orderServers,
  participants,
  readContents,
  recentAddresses,
  type ResourceParts,
  type RunningServer,
} from "./servers.ts";
import { isRecord } from "../../protocol/names.ts";
import { reasonOf } from "../util/values.ts";
import {
  type Desktop,
  type GetDeskTopReq,
  type GetDeskTopRet,
  parseWindowUri,
  type Resource,
  type ResourceContents,
} from "../../protocol/mod.ts";
import { forEachConcurrent, withTimeout } from "../../shared/async.ts";

/** Returns the windows of all MCP servers (protocol §8.1). */
export async function getDesktop(
  { desktop_size: size, window, req_id }: GetDeskTopReq,
  parts: ResourceParts,
): Promise<GetDeskTopRet> {
  if (size !== undefined && size <= 0) return { desktops: [], req_id };
  const warnings: string[] = [];
  const windows = await readWindows(participants(parts), window, warnings);
  const history = recentAddresses(parts);
  const desktops = organizeDesktop(windows, size, history, warnings);
  parts.warnOnce.warn(warnings);
  return { desktops, req_id };
}

/** Limit for each MCP server; the Server waits 30 s for the whole desktop (protocol §7). */
const READ_TIMEOUT_MS = 10_000;
/** Per MCP server. */
const MAX_CONCURRENT_READS = 16;

/**
 * Reads the windows of all MCP servers in parallel; a failed or slow server affects only its own.
 *
 * @param wanted reads only the window with exactly this URI (protocol §8.1)
 * @param warnings receives a sentence for each server or window that cannot be read
 * @param timeoutMs limit for each server
 * @returns server by server, those of one in the order of its resource list
 */
export async function readWindows(
  servers: readonly RunningServer[],
  wanted: string | undefined,
  warnings: string[],
  timeoutMs: number = READ_TIMEOUT_MS,
): Promise<ReadWindow[]> {
  const read = servers.map(async ({ name, connection, list }) => {
    const windows: ReadWindow[] = []; // with holes for those that cannot be read
    const warn = (what: string, error: unknown) =>
      warnings.push(`Cannot read ${what} of "${name}": ${reasonOf(error)}`);
    await withTimeout(timeoutMs, async (signal) => {
      const resources = (await list(signal))
        .filter(({ uri }) => matches(uri, wanted));
      await forEachConcurrent(
        [...resources.entries()],
        MAX_CONCURRENT_READS,
        async ([i, resource]) => {
          const uri = String(resource.uri);
          try {
            const contents = (await connection.readResource(uri, { signal }))
              .map(readContents);
            windows[i] = { server: name, resource, contents };
          } catch (error) {
            if (signal.aborted) throw error;
            warn(quote(uri), error);
          }
        },
      );
    }).catch((error) => warn("all windows", error));
    return Object.values(windows);
  });
  return (await Promise.all(read)).flat();
}

const matches = (uri: unknown, wanted: string | undefined): boolean =>
  isWindow(uri) &&
  (wanted === undefined || uri === wanted || withoutQuery(uri) === wanted);

/** A window with its contents. */
export interface ReadWindow {
  /** The MCP server that lists it. */
  readonly server: string;
  /** As it was listed. */
  readonly resource: Resource;
  /** As it was read. */
  readonly contents: readonly ResourceContents[];
}

/**
 * Organizes the windows of all MCP servers into a desktop (protocol §8.1).
 *
 * @param windows those of one server in the order of its resource list
 * @param size the maximum number of windows over all servers; undefined: no limit
 * @param history the MCP server of each tool call, oldest first
 * @param warnings receives a sentence for each problem of a window
 * @returns rendered, most relevant first
 */
export function organizeDesktop(
  windows: readonly ReadWindow[],
  size: number | undefined,
  history: readonly string[],
  warnings: string[],
): Desktop[] {
  const panes = Map.groupBy(
    windows.flatMap((window) => toPane(window, warnings) ?? []),
    ({ server }) => server,
  );
  return orderServers([...panes.keys()], history)
    .flatMap((server) => arrange(panes.get(server) ?? []))
    .slice(0, Math.max(0, size ?? Infinity))
    .map(render);
}

/** A valid window. */
interface Pane extends WindowLayout {
  readonly server: string;
  readonly uri: string;
  readonly texts: readonly string[];
}

function toPane(
  { server, resource, contents }: ReadWindow,
  warnings: string[],
): Pane | undefined {
  const { uri = "" } = resource;
  const warn = (problem: string) =>
    void warnings.push(
      `Window ${quote(resource.uri)} of "${server}": ${problem}`,
    );
  try {
    if (contents.length === 0) throw new Error("it has no contents");
    const url = parseWindowUri(uri);
    const blobs = contents.filter(({ text, blob }) =>
      text === undefined && blob !== undefined
    ).length;
    if (blobs === contents.length) {
      throw new Error("it holds bytes only, no text");
    }
    url.warnings.forEach(warn);
    if (blobs > 0) {
      warn("its contents that are bytes are left out");
    }
  } catch (error) {
    warn(`${reasonOf(error)}; it is left out`);
    return undefined;
  }
  return {
    server,
    uri: withoutQuery(uri),
    texts: contents.flatMap(({ text }) => text ?? []),
    ...windowLayout(resource, warn),
  };
}

/** Orders the windows of one server: only its first fullscreen window, else all by priority. */
function arrange(panes: readonly Pane[]): readonly Pane[] {
  const fullscreen = panes.find((pane) => pane.fullscreen);
  return fullscreen
    ? [fullscreen]
    : panes.toSorted((a, b) => b.priority - a.priority);
}

function render({ uri, texts }: Pane): Desktop {
  const body = texts.join("\n\n");
  return body === "" ? uri : `${uri}\n\n${body}`;
}

/** How a window is to be shown. */
interface WindowLayout {
  /** 0 to 1; higher is shown first. */
  readonly priority: number;
  /** Hides the other windows of its MCP server. */
  readonly fullscreen: boolean;
}

/**
 * Reads the layout of a window from its resource; null counts as absent (protocol §8.1).
 *
 * @param warn receives a sentence for each invalid field, in whose place a default is used
 */
export function windowLayout(
  { annotations, _meta }: Resource,
  warn: (problem: string) => void,
): WindowLayout {
  const { priority, audience } = fieldsOf(annotations);
  const { fullscreen } = fieldsOf(_meta);
  const check = (
    value: unknown,
    isValid: boolean,
    problem: (got: string) => string,
  ) => {
    if (isGiven(value) && !isValid) warn(problem(`got ${quote(value, 40)}`));
  };
  if (isGiven(annotations) && !isRecord(annotations)) {
    warn("annotations must be an object; they are ignored");
  }
  const fits = typeof priority === "number" && priority >= 0 && priority <= 1;
  check(
    priority,
    fits,
    (got) =>
      `annotations.priority must be a number from 0 to 1, ${got}; 0 is used`,
  );
  check(
    fullscreen,
    typeof fullscreen === "boolean",
    (got) => `_meta.fullscreen must be true or false, ${got}; false is used`,
  );
  const isForAgents = Array.isArray(audience) && audience.includes("assistant");
  check(
    audience,
    isForAgents,
    (got) =>
      `annotations.audience should hold "assistant", ${got}; the window is shown anyway`,
  );
  return {
    priority: fits ? priority : 0,
    fullscreen: fullscreen === true,
  };
}
