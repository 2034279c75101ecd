import { forEachConcurrent, withTimeout } from "../../../shared/async.ts";
import type { Resource } from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import { readContents } from "../contents.ts";
import { identityOf, isWindow, quoteUri } from "../listed_uri.ts";
import { listResources, type RunningServer } from "../servers.ts";
import type { ReadWindow } from "./organize_desktop.ts";

/** Limit for each MCP server; the Server waits 30 s for the whole desktop (spec §7). */
const READ_TIMEOUT_MS = 10_000;
/** Per MCP server. */
const MAX_CONCURRENT_READS = 16;

/** The windows that could be read, with warnings about the others. */
export interface WindowReading {
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
