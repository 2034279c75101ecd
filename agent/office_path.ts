/**
 * Where an Agent's office leads to: the offices behind its Computers, which may have other offices as MCP
 * servers (protocol §15). Only an Agent that serves its office over MCP gives the office an id.
 *
 * @module
 */
import type { GetToolsRet, SMCPTool } from "../protocol/mod.ts";
import {
  MAX_OFFICES_LISTED,
  readOffices,
  type RequestMeta,
  writeOffices,
} from "../protocol/payloads/request_meta.ts";

/** By Agent. */
const paths = new WeakMap<object, OfficePath>();

/** Returns the path of an Agent's office, for what serves it over MCP. */
export function officePathOf(agent: object): OfficePath {
  const path = paths.get(agent);
  if (path !== undefined) return path;
  throw new TypeError("Cannot serve its office: this is no SmcpAgent");
}

/** The id of an Agent's office, and of those behind it. */
export class OfficePath {
  /** The id; `undefined` unless the office is served. */
  #id: string | undefined;
  /** The offices behind a Computer, by the list of its tools that came with them. */
  readonly #behind = new WeakMap<readonly SMCPTool[], readonly string[]>();
  readonly #renamed: () => void;

  /** @param renamed called when Computers have to get another id */
  constructor(agent: object, renamed: () => void) {
    this.#renamed = renamed;
    paths.set(agent, this);
  }

  /** The id; `undefined` unless the office is served. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Gives the office an id, which its Computers get with the next request for their tools. */
  name(id: string): void {
    if (id === this.#id) return;
    this.#id = id;
    this.#renamed();
  }

  /** What a request for the tools of a Computer has besides. */
  get asked(): { _meta?: RequestMeta } {
    return writeOffices(this.#id === undefined ? [] : [this.#id]);
  }

  /** Keeps the offices behind a Computer, of its answer, which it returns. */
  take(answer: GetToolsRet): GetToolsRet {
    const behind = readOffices(answer._meta);
    if (behind.length > 0) this.#behind.set(answer.tools, behind);
    return answer;
  }

  /** Lists the office and those behind the Computers with these tools, each once; none without an id. */
  ids(tools: Iterable<readonly SMCPTool[]>): string[] {
    if (this.#id === undefined) return [];
    const ids = new Set([this.#id]);
    for (const offered of tools) {
      for (const id of this.#behind.get(offered) ?? []) ids.add(id);
    }
    return [...ids].slice(0, MAX_OFFICES_LISTED);
  }
}
