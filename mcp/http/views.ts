/**
 * The views of an office, chosen by the query of a client's URL.
 *
 * Equal queries share one view, and so one table of tools and its sessions; the view that was unused
 * longest gives way to a new one. All views share the Agent, the queue of calls and the
 * subscriptions.
 *
 * @module
 */
import { readBytes } from "./body.ts";
import type { McpCaller } from "../caller.ts";
import { HttpView } from "./http_view.ts";
import { EventRoom } from "./kept_events.ts";
import {
  checkHeaders,
  corsHeaders,
  makeRoom,
  preflight,
  refusal,
  untilEnd,
  useAt,
} from "./guards.ts";
import { OfficeView } from "../office/office_view.ts";
import type { ServerParts } from "../office/server_parts.ts";
import {
  narrowOptions,
  type OfficeMcpOptions,
  type ViewOptions,
} from "../options.ts";
import { messageOf } from "../tools/result.ts";
import type { GatewayBody, GatewayPost } from "../../shared/gateway.ts";

/** The most views of an office at once, beside the one without a query. */
const MAX_VIEWS = 100;
/** The most tools of all of them, each of which has a table of its own. */
const MAX_TOOLS = 100_000;
/** The most patterns of a view. */
const MAX_PATTERNS = 100;

/** One view of an office, and how many requests of it are not answered to their end. */
interface OpenView {
  readonly view: OfficeView;
  readonly http: HttpView;
  open: number;
}

/** An office as its clients ask for it by the queries of their URLs, such as `?tools=search`. */
export class HttpViews {
  /** Of the office as it is shown without a query. */
  readonly #parts: ServerParts;
  readonly #whole: HttpView;
  /** By query; those used longest ago come first. */
  readonly #views = new Map<string, OpenView>();
  /** For what the streams of all their sessions have sent. */
  readonly #room = new EventRoom();
  #isClosed = false;

  /** @param parts of the office as it is shown without a query */
  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#whole = new HttpView(parts, this.#room);
  }

  /**
   * Answers a POST of no page past `Request`, `Response` and the MCP SDK, where nothing is unusual about it.
   *
   * @returns its body for `serve`; `undefined` where it is answered
   */
  async answer(
    post: GatewayPost,
    caller: McpCaller,
  ): Promise<GatewayBody | undefined> {
    const body = await readBytes(post, this.#parts.options.maxBodyBytes);
    if (body instanceof Response || this.#isClosed) return body;
    const isAnswered = post.query === ""
      ? await this.#whole.answer(post, body.json, caller)
      : await this.#answerIn(post, body.json, caller);
    return isAnswered ? undefined : body;
  }

  /**
   * Answers one request.
   *
   * @param body what was read of it
   */
  async serve(
    request: Request,
    caller: McpCaller,
    body?: GatewayBody,
  ): Promise<Response> {
    // A page of the web must not even choose a view.
    const { headers, method } = request;
    const { options } = this.#parts;
    const refused = checkHeaders(headers, options);
    if (refused !== undefined) return refusal(403, refused);
    const shared = corsHeaders(headers, options);
    const answer = () => this.#serve(request, caller, body);
    if (shared === undefined) return await answer();
    if (method === "OPTIONS") return preflight(headers, shared);
    const response = await answer();
    for (const [name, value] of Object.entries(shared)) {
      response.headers.set(name, value);
    }
    return response;
  }

  /** Asks for the Agent again, and notifies clients if they see something else now. */
  async refresh(): Promise<void> {
    const views = [this.#parts, ...this.#views.values()];
    await Promise.all(views.map(({ view }) => view.ready()));
  }

  /** Ends the sessions of a client. */
  forget(caller: McpCaller): void {
    this.#whole.forget(caller);
    for (const { http } of this.#views.values()) http.forget(caller);
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const views = [...this.#views.values()];
    await Promise.all([this.#whole.close(), ...views.map(closeView)]);
  }

  /** Answers a POST in the view of its query; returns whether it does. */
  async #answerIn(
    post: GatewayPost,
    json: unknown,
    caller: McpCaller,
  ): Promise<boolean> {
    let found: OpenView | undefined;
    try {
      found = this.#find(readView(new URLSearchParams(post.query)));
    } catch {
      return false;
    }
    if (found === undefined) return false;
    const { http } = found;
    found.open++;
    const isAnswered = await http.answer(post, json, caller);
    if (!isAnswered) found.open--;
    else post.outgoing.on("close", () => found.open--);
    return isAnswered;
  }

  async #serve(
    request: Request,
    caller: McpCaller,
    body: GatewayBody | undefined,
  ): Promise<Response> {
    if (this.#isClosed) return refusal(503, "The MCP server is closed");
    const { search, searchParams } = new URL(request.url);
    if (search === "") return await this.#whole.serve(request, caller, body);
    let found: OpenView | undefined;
    try {
      found = this.#find(readView(searchParams));
    } catch (error) {
      return refusal(400, messageOf(error));
    }
    if (found === undefined) {
      const why =
        `Too many different queries are in use: at most ${MAX_VIEWS}, with ${MAX_TOOLS} tools in all`;
      return refusal(503, why);
    }
    const { http } = found;
    found.open++;
    const ended = () => found.open--;
    return await untilEnd(() => http.serve(request, caller, body), ended);
  }

  /**
   * Finds the view of a query, and makes it where it is new.
   *
   * @returns `undefined` when there is no room for another one
   * @throws {TypeError | RangeError} naming what cannot be used
   */
  #find(asked: OfficeMcpOptions): OpenView | undefined {
    const query = writeView(asked);
    query.sort();
    const key = query.toString();
    const known = useAt(this.#views, key);
    if (known) return known;
    const options = narrowOptions(this.#parts.options, asked);
    const { provider, watches } = this.#parts.view;
    const view = new OfficeView(provider, options, watches);
    if (!this.#makeRoom()) return undefined;
    const http = new HttpView({ ...this.#parts, view, options }, this.#room);
    const made = { view, http, open: 0 };
    this.#views.set(key, made);
    return made;
  }

  #makeRoom(): boolean {
    const isIdle = ({ open, http }: OpenView) =>
      open === 0 && !http.hasSessions;
    const tools = [...this.#views.values()]
      .reduce((sum, { view }) => sum + view.catalogue.tools.length, 0);
    const most = tools > MAX_TOOLS ? this.#views.size : MAX_VIEWS;
    return makeRoom(this.#views, most, isIdle, closeView);
  }
}

async function closeView({ view, http }: OpenView): Promise<void> {
  await http.close();
  view.close();
}

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
 * Reads how a client sees an office.
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
  if (kind === "list") {
    if (values.length <= MAX_PATTERNS) return values;
    throw new TypeError(
      `Cannot use ${values.length} patterns of ${name}: at most ${MAX_PATTERNS}`,
    );
  }
  const [value = "", ...others] = values;
  if (others.length > 0) throw new TypeError(`${name} is given more than once`);
  const [pattern, expected] = value === "" ? FORMS.text : FORMS[kind];
  if (!pattern.test(value)) {
    const given = JSON.stringify(value);
    throw new TypeError(`Cannot use ${name} ${given}: expected ${expected}`);
  }
  if (kind === "switch") return value === "1";
  if (kind === "seconds") return Number(value) * 1000;
  return kind === "number" ? Number(value) : value;
}

/** The pattern of the values of each kind, and its description. */
const FORMS = {
  text: [/./s, "a value"],
  mode: [/^(all|search)$/, '"all" or "search"'],
  switch: [/^[01]$/, "1 or 0"],
  number: [/^\d{1,9}$/, "a whole number"],
  seconds: [/^\d{1,9}$/, "a whole number"],
} as const;

/** Writes what {@linkcode readView} reads. */
export function writeView(view: ViewOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, [option]] of Object.entries(PARAMETERS)) {
    for (const value of [view[option] ?? []].flat()) {
      const shown = typeof value === "boolean" ? Number(value) : value;
      const isMs = option === "callTimeoutMs";
      query.append(name, String(isMs ? Number(value) / 1000 : shown));
    }
  }
  return query;
}
