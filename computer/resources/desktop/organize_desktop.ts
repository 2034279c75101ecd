import {
  type Desktop,
  parseWindowUri,
  type Resource,
} from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import type { ResourceContents } from "../../../protocol/mod.ts";
import { identityOf, quoteUri } from "../listed_uri.ts";
import { orderServers } from "../server_order.ts";
import { windowLayout } from "./window_layout.ts";

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
export interface OrganizedDesktop {
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
