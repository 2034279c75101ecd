/**
 * What MCP servers refer to in results and prompts: resources by links and with their contents.
 *
 * A client can read what it gets: URIs are written as those of the office, in which Computer and MCP server are
 * named. Those of the web stay as they are, and it is remembered which MCP server gave them last.
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";
import { isOfWeb, linkTo, type Place, type ServerPlace } from "./uris.ts";

/** The most links to the web that are remembered; the oldest go first. */
const MAX_LINKS = 1_000;
/** The longest one. */
const MAX_LENGTH = 2_048;

/** A block of content as MCP has it. */
type Block = Readonly<Record<string, unknown>>;

/** The links that a view of an office has shown. */
export class Links {
  /** Where links to the web come from; the newest are last. */
  readonly #ofWeb = new Map<string, ServerPlace>();

  /**
   * Shows a block of content of an MCP server, with URIs that can be read here.
   *
   * @param from where it is; without an MCP server, which its Computer does not name, it is shown as it is
   */
  show<T extends Block>(
    block: T,
    { computer, server }: Partial<ServerPlace>,
  ): T {
    if (computer === undefined || server === undefined) return block;
    const place = { computer, server };
    const { type, uri, resource } = block;
    if (type === "resource_link" && typeof uri === "string") {
      return { ...block, uri: this.#link(place, uri) };
    }
    if (
      type === "resource" && isRecord(resource) &&
      typeof resource.uri === "string"
    ) {
      const shown = { ...resource, uri: this.#link(place, resource.uri) };
      return { ...block, resource: shown };
    }
    return block;
  }

  /** Finds what a link to the web leads to at the MCP server that gave it last. */
  find(uri: string): Place | undefined {
    const place = this.#ofWeb.get(uri);
    return place && { kind: "resource", ...place, uri };
  }

  #link(place: ServerPlace, uri: string): string {
    if (isOfWeb(uri) && uri.length <= MAX_LENGTH) {
      this.#ofWeb.delete(uri);
      this.#ofWeb.set(uri, place);
      for (const oldest of this.#ofWeb.keys()) {
        if (this.#ofWeb.size <= MAX_LINKS) break;
        this.#ofWeb.delete(oldest);
      }
    }
    return linkTo(place, uri);
  }
}
