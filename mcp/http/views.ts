/**
 * The views of an office, chosen by the query of a client's URL.
 *
 * Equal queries share one view, and so one table of tools and its sessions; the view that was unused
 * longest gives way to a new one. All views share the Agent, the queue of calls and the
 * subscriptions.
 *
 * @module
 */
import { HttpFace, type McpCaller } from "./face.ts";
import {
  checkHeaders,
  corsHeaders,
  preflight,
  refusal,
  untilEnd,
} from "./guards.ts";
import { OfficeView } from "../office/office_view.ts";
import type { ServerParts } from "../office/server.ts";
import { narrowOptions, type OfficeMcpOptions } from "../options.ts";
import { messageOf } from "../tools/result.ts";

/** The most views of an office at once, beside the one without a query. */
const MAX_VIEWS = 100;

/** One view of an office, and how many requests of it are not answered to their end. */
interface Shown {
  readonly view: OfficeView;
  readonly face: HttpFace;
  open: number;
}

/** An office as its clients ask for it by the queries of their URLs, such as `?tools=search`. */
export class HttpViews {
  readonly #parts: ServerParts;
  readonly #whole: HttpFace;
  /** By query; those used longest ago come first. */
  readonly #shown = new Map<string, Shown>();
  #isClosed = false;

  /** @param parts of the office as it is shown without a query */
  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#whole = new HttpFace(parts);
  }

  /** Answers one request. */
  async serve(request: Request, caller: McpCaller): Promise<Response> {
    // A page of the web must not even choose a view.
    const { headers, method } = request;
    const refused = checkHeaders(headers, this.#parts.options);
    if (refused) {
      return refusal(refused.status, refused.message);
    }
    const shared = corsHeaders(headers, this.#parts.options);
    if (shared === undefined) return await this.#answer(request, caller);
    if (method === "OPTIONS") return preflight(headers, shared);
    const response = await this.#answer(request, caller);
    for (const [name, value] of Object.entries(shared)) {
      response.headers.set(name, value);
    }
    return response;
  }

  async #answer(request: Request, caller: McpCaller): Promise<Response> {
    if (this.#isClosed) {
      return refusal(503, "The MCP server is closed");
    }
    const { search, searchParams } = new URL(request.url);
    if (search === "") return await this.#whole.serve(request, caller);
    let shown: Shown | undefined;
    try {
      shown = this.#find(readView(searchParams));
    } catch (error) {
      return refusal(400, messageOf(error));
    }
    if (shown === undefined) {
      return refusal(
        503,
        `Too many different queries are in use: at most ${MAX_VIEWS}`,
      );
    }
    shown.open++;
    return await untilEnd(
      () => shown.face.serve(request, caller),
      () => shown.open--,
    );
  }

  /** Asks for the Agent again, and tells clients if they see something else now. */
  async refresh(): Promise<void> {
    const views = [...this.#shown.values()].map(({ view }) => view.ready());
    await Promise.all([this.#parts.view.ready(), ...views]);
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const shown = [...this.#shown.values()].map(closeShown);
    await Promise.all([this.#whole.close(), ...shown]);
  }

  /**
   * Finds the view of a query, and makes it where it is new.
   *
   * @returns `undefined` when there is no room for another one
   * @throws {TypeError | RangeError} naming what cannot be used
   */
  #find(wanted: OfficeMcpOptions): Shown | undefined {
    const query = writeView(wanted);
    query.sort();
    const key = query.toString();
    const shown = this.#shown.get(key) ?? this.#open(wanted);
    if (shown === undefined) return undefined;
    this.#shown.delete(key);
    this.#shown.set(key, shown);
    return shown;
  }

  #open(wanted: OfficeMcpOptions): Shown | undefined {
    const options = narrowOptions(this.#parts.options, wanted);
    const { queue, states, view: { provider, watches } } = this.#parts;
    const view = new OfficeView(provider, options, watches);
    if (!this.#makeRoom()) return undefined;
    const face = new HttpFace({ view, queue, states, options });
    return { view, face, open: 0 };
  }

  /** Ends the view that nobody has used for the longest time where another one has no room. */
  #makeRoom(): boolean {
    if (this.#shown.size < MAX_VIEWS) return true;
    const idle = [...this.#shown]
      .find(([, { open, face }]) => open === 0 && !face.hasSessions);
    if (idle === undefined) return false;
    this.#shown.delete(idle[0]);
    void closeShown(idle[1]);
    return true;
  }
}

async function closeShown({ view, face }: Shown): Promise<void> {
  await face.close();
  view.close();
}

/** How one client sees an office, as the query of its URL says it: `/mcp/OFFICE?tools=search`. */
export type ViewOptions = Pick<
  OfficeMcpOptions,
  | "computer"
  | "include"
  | "exclude"
  | "tools"
  | "nameLimit"
  | "callTimeoutMs"
  | "lenient"
  | "desktopTools"
>;

/** The parameters: which option each is, and how it is written; all but lists are given once. */
const PARAMETERS = {
  computer: ["computer", "text"],
  include: ["include", "list"],
  exclude: ["exclude", "list"],
  tools: ["tools", "mode"],
  "name-limit": ["nameLimit", "number"],
  // Queries count in seconds, like the flags of the same names.
  timeout: ["callTimeoutMs", "seconds"],
  lenient: ["lenient", "switch"],
  "desktop-tools": ["desktopTools", "switch"],
} as const satisfies Record<string, readonly [keyof ViewOptions, string]>;

type Kind = typeof PARAMETERS[keyof typeof PARAMETERS][1];

/**
 * Reads how a client wants to see an office.
 *
 * @throws {TypeError} naming a parameter that does not exist, or its value
 */
export function readView(query: URLSearchParams): ViewOptions {
  const known = new Map(Object.entries(PARAMETERS));
  const options = [...new Set(query.keys())].map((name) => {
    const [option, kind] = known.get(name) ?? [];
    if (option !== undefined && kind !== undefined) {
      return [option, read(name, kind, query.getAll(name))];
    }
    throw new TypeError(
      `There is no parameter ${JSON.stringify(name)}: expected one of ${
        [...known.keys()].join(", ")
      }`,
    );
  });
  return Object.fromEntries(options);
}

function read(name: string, kind: Kind, values: readonly string[]): unknown {
  if (kind === "list") return values;
  const [value = "", ...others] = values;
  if (others.length > 0) throw new TypeError(`${name} is given more than once`);
  const fits = (pattern: RegExp, expected: string) => {
    if (pattern.test(value)) return value;
    throw new TypeError(
      `Cannot use ${name} ${JSON.stringify(value)}: expected ${expected}`,
    );
  };
  fits(/./s, "a value");
  switch (kind) {
    case "text":
      return value;
    case "mode":
      return fits(/^(all|search)$/, '"all" or "search"');
    case "switch":
      return fits(/^[01]$/, "1 or 0") === "1";
    default:
      return Number(fits(/^\d{1,9}$/, "a whole number")) *
        (kind === "seconds" ? 1000 : 1);
  }
}

/** Writes what {@linkcode readView} reads. */
export function writeView(view: ViewOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, [option]] of Object.entries(PARAMETERS)) {
    for (const value of [view[option] ?? []].flat()) {
      query.append(
        name,
        String(
          option === "callTimeoutMs"
            ? Number(value) / 1000
            : typeof value === "boolean"
            ? Number(value)
            : value,
        ),
      );
    }
  }
  return query;
}
