/**
 * The desktop (spec §8.1): the windows of all MCP servers are read, ordered and rendered.
 *
 * @module
 */
import { identityOf, isWindow, quoteUri } from "./listed.ts";
import {
  historyOf,
  listResources,
  orderServers,
  participants,
  readContents,
  type ResourceParts,
  type RunningServer,
} from "./servers.ts";
import { hideSecrets } from "../util/secrets.ts";
import { isRecord, reasonOf } from "../util/values.ts";
import {
  type Desktop,
  type GetDeskTopReq,
  type GetDeskTopRet,
  parseWindowUri,
  type Resource,
  type ResourceContents,
} from "../../protocol/mod.ts";
import { forEachConcurrent, withTimeout } from "../../shared/async.ts";

/** Returns the windows of all MCP servers (spec §8.1). */
export async function getDesktop(
  { desktop_size: size, window, req_id }: GetDeskTopReq,
  parts: ResourceParts,
): Promise<GetDeskTopRet> {
  if (size !== undefined && size <= 0) return { desktops: [], req_id };
  const reading = await readWindows(
    participants(parts.hosting.host),
    window,
    ({ bundleId }, resources) => parts.watch.saw(bundleId, resources),
  );
  const { desktops, warnings } = organizeDesktop(
    reading.windows,
    size,
    historyOf(parts),
  );
  parts.warnOnce.warn([...reading.warnings, ...warnings]);
  return { desktops, req_id };
}

/** Limit for each MCP server; the Server waits 30 s for the whole desktop (spec §7). */
const READ_TIMEOUT_MS = 10_000;
/** Per MCP server. */
const MAX_CONCURRENT_READS = 16;

/** The windows that could be read, with warnings about the others. */
interface WindowReading {
  /** Server by server, those of one in the order of its resource list. */
  readonly windows: readonly ReadWindow[];
  /** What could not be read, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/**
 * Reads the windows of all MCP servers at once; a failed or slow server affects only its own.
 *
 * @param wanted reads only the window with exactly this URI (spec §8.1)
 * @param listed receives the resources of each server
 * @param timeoutMs limit for each server
 */
export async function readWindows(
  servers: readonly RunningServer[],
  wanted: string | undefined,
  listed: (server: RunningServer, resources: readonly Resource[]) => void,
  timeoutMs: number = READ_TIMEOUT_MS,
): Promise<WindowReading> {
  const readings = await Promise.all(
    servers.map((server) => readServer(server, wanted, listed, timeoutMs)),
  );
  return {
    windows: readings.flatMap(({ windows }) => windows),
    warnings: readings.flatMap(({ warnings }) => warnings),
  };
}

async function readServer(
  server: RunningServer,
  wanted: string | undefined,
  listed: (server: RunningServer, resources: readonly Resource[]) => void,
  timeoutMs: number,
): Promise<WindowReading> {
  const { name, connection } = server;
  const read = new Map<Resource, ReadWindow>();
  const warnings: string[] = [];
  let windows: Resource[] = [];
  try {
    await withTimeout(timeoutMs, async (signal) => {
      const resources = await listResources(connection, signal);
      listed(server, resources);
      windows = resources.filter(({ uri }) => matches(uri, wanted));
      await forEachConcurrent(
        windows,
        MAX_CONCURRENT_READS,
        async (resource) => {
          const contents = await connection.readResource(String(resource.uri), {
            signal,
          }).catch((error) => {
            if (signal.aborted) throw error;
            warnings.push(
              `Cannot read ${quoteUri(resource.uri)} of "${name}": ${
                reasonOf(error)
              }`,
            );
          });
          if (!contents) return;
          read.set(resource, {
            server: name,
            resource,
            contents: contents.map(readContents),
          });
        },
      );
    });
  } catch (error) {
    warnings.push(
      `Cannot read all windows of "${name}": ${reasonOf(error)}`,
    );
  }
  return { windows: windows.flatMap((w) => read.get(w) ?? []), warnings };
}

const matches = (uri: unknown, wanted: string | undefined): boolean =>
  isWindow(uri) &&
  (wanted === undefined || uri === wanted || identityOf(uri) === wanted);

/** A window with its contents. */
export interface ReadWindow {
  /** The MCP server that lists it. */
  readonly server: string;
  /** As it was listed. */
  readonly resource: Resource;
  /** As it was read. */
  readonly contents: readonly ResourceContents[];
}

/** The desktop, with warnings about its windows. */
interface OrganizedDesktop {
  /** Rendered, most relevant first. */
  readonly desktops: Desktop[];
  /** One sentence each, for the log. */
  readonly warnings: string[];
}

/**
 * Organizes the windows of all MCP servers into a desktop (spec §8.1).
 *
 * @param windows those of one server in the order of its resource list
 * @param size the maximum number of windows over all servers; undefined: no limit
 * @param history the MCP server of each tool call, oldest first
 */
export function organizeDesktop(
  windows: readonly ReadWindow[],
  size: number | undefined,
  history: readonly string[],
): OrganizedDesktop {
  const warnings: string[] = [];
  if (size !== undefined && size <= 0) return { desktops: [], warnings };
  const byServer = new Map<string, Pane[]>();
  for (const window of windows) {
    const { pane, problems } = toPane(window);
    warnings.push(
      ...problems.map((problem) =>
        `Window ${
          quoteUri(window.resource.uri)
        } of "${window.server}": ${problem}`
      ),
    );
    if (!pane) continue;
    const panes = byServer.get(window.server);
    if (panes) panes.push(pane);
    else byServer.set(window.server, [pane]);
  }
  const desktops = orderServers([...byServer.keys()], history)
    .flatMap((server) => arrange(byServer.get(server) ?? []))
    .slice(0, size)
    .map(render);
  return { desktops, warnings };
}

/** A valid window. */
interface Pane {
  readonly uri: string;
  readonly texts: readonly string[];
  readonly priority: number;
  readonly fullscreen: boolean;
}

function toPane(
  { resource, contents }: ReadWindow,
): { pane?: Pane; problems: readonly string[] } {
  if (contents.length === 0) {
    return { problems: ["it has no contents; it is left out"] };
  }
  const uri = resource.uri ?? "";
  const problems: string[] = [];
  try {
    problems.push(...parseWindowUri(uri).warnings);
  } catch (error) {
    return { problems: [`${reasonOf(error)}; it is left out`] };
  }
  const blobs = contents.filter(isBlob).length;
  if (blobs === contents.length) {
    return { problems: ["it holds bytes only, no text; it is left out"] };
  }
  if (blobs > 0) problems.push("its contents that are bytes are left out");
  const { priority, fullscreen, warnings } = windowLayout(resource);
  return {
    pane: {
      uri: identityOf(uri),
      texts: contents.flatMap(({ text }) => text === undefined ? [] : [text]),
      priority,
      fullscreen,
    },
    problems: [...problems, ...warnings],
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

const isBlob = ({ text, blob }: ResourceContents): boolean =>
  text === undefined && blob !== undefined;

/** How a window is to be shown. */
interface WindowLayout {
  /** 0 to 1; higher is shown first. */
  readonly priority: number;
  /** Hides the other windows of its MCP server. */
  readonly fullscreen: boolean;
  /** Invalid fields that were replaced with defaults, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/** Reads the layout of a window from its resource; null counts as absent (spec §8.1). */
export function windowLayout({ annotations, _meta }: Resource): WindowLayout {
  const { priority, audience }: Record<string, unknown> = isRecord(annotations)
    ? annotations
    : {};
  const { fullscreen }: Record<string, unknown> = isRecord(_meta) ? _meta : {};
  const fits = typeof priority === "number" && priority >= 0 && priority <= 1;
  const warnings: string[] = [];
  if (isGiven(annotations) && !isRecord(annotations)) {
    warnings.push("annotations must be an object; they are ignored");
  }
  if (isGiven(priority) && !fits) {
    warnings.push(
      `annotations.priority must be a number from 0 to 1, got ${
        show(priority)
      }; 0 is used`,
    );
  }
  if (isGiven(fullscreen) && typeof fullscreen !== "boolean") {
    warnings.push(
      `_meta.fullscreen must be true or false, got ${
        show(fullscreen)
      }; false is used`,
    );
  }
  if (
    isGiven(audience) &&
    !(Array.isArray(audience) && audience.includes("assistant"))
  ) {
    warnings.push(
      `annotations.audience should hold "assistant", got ${
        show(audience)
      }; the window is shown anyway`,
    );
  }
  return {
    priority: fits ? priority : 0,
    fullscreen: fullscreen === true,
    warnings,
  };
}

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null;

const show = (value: unknown): string => {
  const text = hideSecrets(JSON.stringify(value));
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};
