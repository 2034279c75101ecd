import type { Resource } from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import { withTimeout } from "../../util/deadline.ts";
import { forEachConcurrent } from "../../util/for_each_concurrent.ts";
import { readContents } from "../contents.ts";
import { identityOf, isWindow, quoteUri } from "../listed_uri.ts";
import { listResources, type RunningServer } from "../servers.ts";
import type { ReadWindow } from "./organize_desktop.ts";

/** The Server waits 30 s for the whole desktop (spec §7). */
const PATIENCE = 10_000;
/** How many windows of one server are read at a time. */
const AT_A_TIME = 16;

/** The windows that could be read, and what was found on the way. */
export interface WindowReading {
  /** Server by server, those of one in the order of its resource list. */
  readonly windows: readonly ReadWindow[];
  /** What could not be read, one sentence each, for a WARN in the log. */
  readonly warnings: readonly string[];
}

/**
 * Reads the windows of all MCP servers at once; one that fails or is slow hides only itself.
 *
 * @param wanted only the window with exactly this URI (spec §8.1)
 * @param listed is told what each server lists
 * @param patience milliseconds that each server gets
 */
export async function readWindows(
  servers: readonly RunningServer[],
  wanted: string | undefined,
  listed: (server: string, resources: readonly Resource[]) => void,
  patience: number = PATIENCE,
): Promise<WindowReading> {
  const readings = await Promise.all(
    servers.map((server) => readServer(server, wanted, listed, patience)),
  );
  return {
    windows: readings.flatMap(({ windows }) => windows),
    warnings: readings.flatMap(({ warnings }) => warnings),
  };
}

async function readServer(
  { name, connection }: RunningServer,
  wanted: string | undefined,
  listed: (server: string, resources: readonly Resource[]) => void,
  patience: number,
): Promise<WindowReading> {
  const read = new Map<Resource, ReadWindow>();
  const warnings: string[] = [];
  let windows: Resource[] = [];
  try {
    await withTimeout(patience, async (signal) => {
      const resources = await listResources(connection, signal);
      listed(name, resources);
      windows = resources.filter(({ uri }) => matches(uri, wanted));
      await forEachConcurrent(windows, AT_A_TIME, async (resource) => {
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
      });
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
