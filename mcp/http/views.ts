import type { OfficeMcpOptions } from "../options.ts";
import { narrowOptions } from "../options.ts";
import { OfficeView } from "../office/office_view.ts";
import type { ServerParts } from "../office/server_parts.ts";
import { messageOf } from "../tools/result.ts";
import { corsHeaders, preflight } from "./cors.ts";
import { checkHeaders } from "./guards.ts";
import { HttpFace, type McpCaller } from "./http.ts";
import { httpError, RpcError } from "./http_error.ts";
import { onBodyEnd } from "./open_bodies.ts";
import { readView, writeView } from "./view_query.ts";

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
