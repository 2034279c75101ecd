/**
 * Requests of MCP 2026-07-28 over HTTP: their headers, and their end.
 *
 * Headers repeat the method, the name, and those arguments that the tool's schema marks, so that proxies can
 * route requests without reading bodies. The end of a request's response cancels it; there is no message
 * for that.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types";
import { isRecord } from "../../../protocol/names.ts";
import {
  headerMarks,
  headerText,
  paramHeaders,
} from "../../../protocol/mcp/param_headers.ts";
import { passOn, requestIdOf } from "./limited_fetch.ts";

/** The field of `_meta` that only requests of 2026-07-28 have. */
const VERSION = "io.modelcontextprotocol/protocolVersion";

/** What the header `Mcp-Name` repeats, by method. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** A request without an answer. */
interface Pending {
  /** Which page of a list of tools it is for. */
  readonly lists: "first" | "more" | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Ends its response. */
  readonly end: AbortController;
}

/** The requests of a connection that have no answer yet; those of sessions pass unchanged. */
export class ModernRequests {
  readonly #pending = new Map<string | number, Pending>();
  /** The schemas of tools whose arguments are repeated, by name. */
  readonly #schemas = new Map<string, unknown>();

  /** Takes note of a request before it is sent. */
  begin({ id, method, params = {} }: JSONRPCRequest): void {
    const version = params._meta?.[VERSION];
    // Proxies may want the method of each request, also of one that asks for a session.
    const isOpening = method === "initialize";
    if (typeof version !== "string" && !isOpening) return;
    const { [NAMES.get(method) ?? ""]: name, arguments: args } = params;
    const headers = {
      "mcp-method": method,
      ...(typeof version === "string" && { "mcp-protocol-version": version }),
      ...(typeof name === "string" && { "mcp-name": headerText(name) }),
      ...(method === "tools/call" &&
        paramHeaders(this.#schemas.get(String(name)), args)),
    };
    const isList = method === "tools/list";
    const lists = isList ? params.cursor ? "more" : "first" : undefined;
    this.#pending.set(id, { lists, headers, end: new AbortController() });
  }

  /** Ends a request without its answer; returns whether it is of 2026-07-28. */
  cancel(id: unknown): boolean {
    const pending = this.#pending.get(Number(id));
    this.#pending.delete(Number(id));
    pending?.end.abort(new Error("The request was cancelled"));
    return pending !== undefined;
  }

  /** Takes note of an answer, and of the schemas that a list of tools has. */
  answered(message: JSONRPCMessage): void {
    if ("method" in message || message.id === undefined) return;
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (!pending?.lists || !("result" in message)) return;
    const { tools } = message.result;
    if (pending.lists === "first") this.#schemas.clear();
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isRecord(tool)) continue;
      const { name, inputSchema } = tool;
      if (!headerMarks(inputSchema)?.length) continue;
      this.#schemas.set(String(name), inputSchema);
    }
  }

  /** Wraps `fetch` so that these requests have their headers, and end when they are cancelled. */
  sending(fetch: FetchLike): FetchLike {
    return async (url, init = {}) => {
      const id = requestIdOf(init);
      const pending = id === undefined ? undefined : this.#pending.get(id);
      if (!pending) return await fetch(url, init);
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(pending.headers)) {
        headers.set(name, value);
      }
      const { end } = pending;
      const signal = init.signal
        ? AbortSignal.any([init.signal, end.signal])
        : end.signal;
      const response = await fetch(url, { ...init, headers, signal });
      if (!response.body) return response;
      return new Response(endingWith(response.body, end.signal), response);
    };
  }
}

/** Passes a body on until the signal: cut off, it would look like a loss. */
function endingWith(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const onEnd = () => signal.aborted ? new Uint8Array() : undefined;
  return passOn(body, { onEnd });
}
