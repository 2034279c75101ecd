/**
 * The views of an office, chosen by the query of a client's URL.
 *
 * Equal queries share one view, and so one table of tools and its sessions; the view that was unused
 * longest gives way to a new one. All views share the Agent, the queue of calls and the
 * subscriptions.
 *
 * @module
 */
import { type HttpFace, type McpCaller, openFace } from "./face.ts";
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
import type { ServerParts } from "../office/server.ts";
import { narrowOptions, type OfficeMcpOptions } from "../options.ts";
import { messageOf } from "../tools/result.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** The most views of an office at once, beside the one without a query. */
const MAX_VIEWS = 100;
/** The most tools of all of them, each of which has a table of its own. */
const MAX_TOOLS = 100_000;
/** The most patterns of a view. */
const MAX_PATTERNS = 100;

/** One view of an office, and how many requests of it are not answered to their end. */
interface Shown {
  readonly view: OfficeView;
  readonly face: HttpFace;
  open: number;
}

/** An office as its clients ask for it by the queries of their URLs, such as `?tools=search`. */
export type HttpViews = ReturnType<typeof openViews>;

/** @param parts of the office as it is shown without a query */
export function openViews(parts: ServerParts) {
  const { options, view: { provider, watches } } = parts;
  const whole = openFace(parts);
  /** By query; those used longest ago come first. */
  const shown = new Map<string, Shown>();
  let isClosed = false;

  const answer: HttpFace["serve"] = async (request, caller) => {
    if (isClosed) return refusal(503, "The MCP server is closed");
    const { search, searchParams } = new URL(request.url);
    if (search === "") return await whole.serve(request, caller);
    let found: Shown | undefined;
    try {
      found = find(readView(searchParams));
    } catch (error) {
      return refusal(400, messageOf(error));
    }
    if (found === undefined) {
      const why =
        `Too many different queries are in use: at most ${MAX_VIEWS}, with ${MAX_TOOLS} tools in all`;
      return refusal(503, why);
    }
    const { face } = found;
    found.open++;
    const ended = () => found.open--;
    return await untilEnd(() => face.serve(request, caller), ended);
  };

  /**
   * Finds the view of a query, and makes it where it is new.
   *
   * @returns `undefined` when there is no room for another one
   * @throws {TypeError | RangeError} naming what cannot be used
   */
  function find(wanted: OfficeMcpOptions): Shown | undefined {
    const query = writeView(wanted);
    query.sort();
    const key = query.toString();
    const known = useAt(shown, key);
    if (known) return known;
    const narrowed = narrowOptions(options, wanted);
    const view = new OfficeView(provider, narrowed, watches);
    const isIdle = ({ open, face }: Shown) => open === 0 && !face.hasSessions();
    const tools = [...shown.values()]
      .reduce((sum, { view }) => sum + view.catalogue.tools.length, 0);
    const most = tools > MAX_TOOLS ? shown.size : MAX_VIEWS;
    if (!makeRoom(shown, most, isIdle, closeShown)) return undefined;
    const face = openFace({ ...parts, view, options: narrowed });
    const made = { view, face, open: 0 };
    shown.set(key, made);
    return made;
  }

  return {
    /** Answers one request. */
    async serve(request: Request, caller: McpCaller): Promise<Response> {
      // A page of the web must not even choose a view.
      const { headers, method } = request;
      const refused = checkHeaders(headers, options);
      if (refused !== undefined) return refusal(403, refused);
      const shared = corsHeaders(headers, options);
      if (shared === undefined) return await answer(request, caller);
      if (method === "OPTIONS") return preflight(headers, shared);
      const response = await answer(request, caller);
      for (const [name, value] of Object.entries(shared)) {
        response.headers.set(name, value);
      }
      return response;
    },
    /** Asks for the Agent again, and tells clients if they see something else now. */
    async refresh(): Promise<void> {
      const views = [parts, ...shown.values()];
      await Promise.all(views.map(({ view }) => view.ready()));
    },
    /** Cancels all that runs, and ends all streams and sessions. */
    async close(): Promise<void> {
      isClosed = true;
      await Promise.all([
        whole.close(),
        ...[...shown.values()].map(closeShown),
      ]);
    },
  };
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

/** The names of {@linkcode ViewOptions}. */
export const VIEW_NAMES = {
  computer: true,
  include: true,
  exclude: true,
  tools: true,
  nameLimit: true,
  callTimeoutMs: true,
  lenient: true,
  desktopTools: true,
} satisfies NamesOf<ViewOptions>;

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

/** What the values of each kind look like, and how that is said. */
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
