/**
 * The views of an office, chosen by the query of a client's URL, and by the Computers that a person has let its
 * program use.
 *
 * Equal ones share one view, and so one table of tools and its sessions. All views share the Agent, the queue of
 * calls and the subscriptions.
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
  preflight,
  refusal,
  untilEnd,
} from "./guards.ts";
import { OfficeView } from "../office/office_view.ts";
import type { ServerParts } from "../office/server_parts.ts";
import {
  narrowOptions,
  type OfficeMcpOptions,
  type ViewOptions,
} from "../options.ts";
import { messageOf } from "../tools/result.ts";
import { MAX_TOOLS, MAX_VIEWS, type OpenView, ViewRoom } from "./view_room.ts";
import type { ComputerChoice } from "../../shared/computer_choice.ts";
import type { GatewayBody, GatewayPost } from "../../shared/gateway.ts";

/** How many principals whose sign-ins choose Computers have room for their views, at least. */
const SIGNED_IN = 5;
/** The most patterns of a view. */
const MAX_PATTERNS = 100;

/** An office as its clients ask for it by the queries of their URLs, such as `?tools=search`. */
export class HttpViews {
  /** Of the office as it is shown without a query. */
  readonly #parts: ServerParts;
  readonly #whole: HttpView;
  /** By query. */
  readonly #views = new ViewRoom(1);
  /** Those with some Computers alone, by these and the query. */
  readonly #chosen = new ViewRoom(SIGNED_IN);
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
    const isAnswered = isWhole(post.query, caller)
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
    const views = [this.#parts, ...this.#views.all, ...this.#chosen.all];
    await Promise.all(views.map(({ view }) => view.ready()));
  }

  /** Ends the sessions of a client. */
  forget(caller: McpCaller): void {
    this.#whole.forget(caller);
    for (const { http } of [...this.#views.all, ...this.#chosen.all]) {
      http.forget(caller);
    }
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [this.#whole, this.#views, this.#chosen];
    await Promise.all(all.map((each) => each.close()));
  }

  /** Answers a POST in the view of its query; returns whether it does. */
  async #answerIn(
    post: GatewayPost,
    json: unknown,
    caller: McpCaller,
  ): Promise<boolean> {
    let found: OpenView | undefined;
    try {
      found = this.#find(new URLSearchParams(post.query), caller);
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
    if (isWhole(search, caller)) {
      return await this.#whole.serve(request, caller, body);
    }
    let found: OpenView | undefined;
    try {
      found = this.#find(searchParams, caller);
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
   * Finds the view of a query and of the Computers that its sender may use, and makes it where it is new.
   *
   * @returns `undefined` when there is no room for another one
   * @throws {TypeError | RangeError} naming what cannot be used
   */
  #find(
    parameters: URLSearchParams,
    { principal, grant }: McpCaller,
  ): OpenView | undefined {
    // Most sign-ins come without a query, and each of their requests comes here.
    const asked = parameters.size === 0 ? {} : readView(parameters);
    const query = parameters.size === 0 ? "" : textOf(asked);
    const computers = grant && toSome(grant.computers);
    const make = () => {
      const options = narrowOptions(this.#parts.options, asked, computers);
      const { provider, watches } = this.#parts.view;
      const view = new OfficeView(provider, options, watches);
      const http = new HttpView({ ...this.#parts, view, options }, this.#room);
      return { view, http };
    };
    return computers === undefined
      ? this.#views.find(query, undefined, make)
      : this.#chosen.find(`${keyOf(computers)}?${query}`, principal, make);
  }
}

/** Writes how a client sees an office; equal ones have one text. */
function textOf(asked: ViewOptions): string {
  const query = writeView(asked);
  query.sort();
  return query.toString();
}

/** Whether a client sees the office as it is shown without a query. */
const isWhole = (query: string, { grant }: McpCaller): boolean =>
  query === "" && (grant === undefined || !toSome(grant.computers));

/** Returns a choice unless it is all Computers, also those that come later. */
const toSome = (choice: ComputerChoice): ComputerChoice | undefined =>
  "only" in choice || choice.except.length > 0 ? choice : undefined;

/** Writes a choice; equal ones have one text, which no other one has. */
const keyOf = (choice: ComputerChoice): string =>
  JSON.stringify(
    "only" in choice
      ? ["only", ...new Set(choice.only.toSorted())]
      : ["except", ...new Set(choice.except.toSorted())],
  );

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
