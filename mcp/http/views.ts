import {
  httpError,
  HttpFace,
  type McpCaller,
  onBodyEnd,
  RpcError,
} from "./face.ts";
import { checkHeaders, corsHeaders, preflight } from "./guards.ts";
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
      return httpError(refused.status, RpcError.REFUSED, refused.message);
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
      return httpError(503, RpcError.REFUSED, "The MCP server is closed");
    }
    const { search, searchParams } = new URL(request.url);
    if (search === "") return await this.#whole.serve(request, caller);
    let shown: Shown | undefined;
    try {
      shown = this.#find(readView(searchParams));
    } catch (error) {
      return httpError(400, RpcError.REFUSED, messageOf(error));
    }
    if (shown === undefined) {
      return httpError(
        503,
        RpcError.REFUSED,
        `Too many different queries are in use: at most ${MAX_VIEWS}`,
      );
    }
    return await serveShown(shown, request, caller);
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

async function serveShown(
  shown: Shown,
  request: Request,
  caller: McpCaller,
): Promise<Response> {
  shown.open++;
  let isOver = false;
  const over = () => {
    if (!isOver) shown.open--;
    isOver = true;
  };
  try {
    return onBodyEnd(await shown.face.serve(request, caller), over);
  } catch (error) {
    over();
    throw error;
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

/** Milliseconds in a second: queries count in seconds, like the flags of the same names. */
const SECOND_MS = 1000;

/** Reads the values of a parameter. */
type Reader = (values: readonly string[], name: string) => ViewOptions;

/** The parameters; all but the patterns are given once. */
const PARAMETERS: Readonly<Record<string, Reader>> = {
  computer: (values, name) => ({ computer: single(values, name) }),
  include: (include) => ({ include }),
  exclude: (exclude) => ({ exclude }),
  tools: (values, name) => {
    const tools = single(values, name);
    if (tools === "all" || tools === "search") return { tools };
    throw wrong(name, tools, '"all" or "search"');
  },
  "name-limit": (values, name) => ({ nameLimit: number(values, name) }),
  timeout: (values, name) => ({
    callTimeoutMs: number(values, name) * SECOND_MS,
  }),
  lenient: (values, name) => ({ lenient: onOff(values, name) }),
  "desktop-tools": (values, name) => ({ desktopTools: onOff(values, name) }),
};

/**
 * Reads how a client wants to see an office.
 *
 * @throws {TypeError} naming a parameter that does not exist, or its value
 */
export function readView(query: URLSearchParams): ViewOptions {
  const view: ViewOptions = {};
  for (const name of new Set(query.keys())) {
    const read = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
    if (read === undefined) {
      throw new TypeError(
        `There is no parameter ${JSON.stringify(name)}: expected one of ${
          Object.keys(PARAMETERS).join(", ")
        }`,
      );
    }
    Object.assign(view, read(query.getAll(name), name));
  }
  return view;
}

/** Writes what {@linkcode readView} reads. */
export function writeView(view: ViewOptions): URLSearchParams {
  const { computer, include, exclude, tools, nameLimit, callTimeoutMs } = view;
  const seconds = callTimeoutMs === undefined
    ? undefined
    : callTimeoutMs / SECOND_MS;
  const pairs: [string, string | number | undefined][] = [
    ["computer", computer],
    ...(include ?? []).map((each): [string, string] => ["include", each]),
    ...(exclude ?? []).map((each): [string, string] => ["exclude", each]),
    ["tools", tools],
    ["name-limit", nameLimit],
    ["timeout", seconds],
    ["lenient", digit(view.lenient)],
    ["desktop-tools", digit(view.desktopTools)],
  ];
  const query = new URLSearchParams();
  for (const [name, value] of pairs) {
    if (value !== undefined) query.append(name, String(value));
  }
  return query;
}

const digit = (value: boolean | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

function onOff(values: readonly string[], name: string): boolean {
  const text = single(values, name);
  if (text === "1" || text === "0") return text === "1";
  throw wrong(name, text, "1 or 0");
}

function single(values: readonly string[], name: string): string {
  const [value = "", ...others] = values;
  if (others.length > 0) throw new TypeError(`${name} is given more than once`);
  if (value === "") throw wrong(name, value, "a value");
  return value;
}

function number(values: readonly string[], name: string): number {
  const text = single(values, name);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw wrong(name, text, "a whole number");
}

const wrong = (name: string, value: string, expected: string): TypeError =>
  new TypeError(
    `Cannot use ${name} ${JSON.stringify(value)}: expected ${expected}`,
  );
