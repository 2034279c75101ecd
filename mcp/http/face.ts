import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { refusal, RpcError, untilEnd, withPlainAccept } from "./guards.ts";
import { keptAlive } from "./kept_alive.ts";
import { headerMismatch } from "./param_headers.ts";
import { type Message, Sessions } from "./sessions.ts";
import { wantIn } from "../office/resources.ts";
import { createOfficeServer, type ServerParts } from "../office/server.ts";
import { wantListened } from "../resources/watches.ts";
import { messageOf } from "../tools/result.ts";
import type { NamesOf } from "../../shared/checks.ts";
import { parsePieces } from "../../shared/json_pieces.ts";
import { countValues } from "../../shared/json_values.ts";
import { inSlices } from "../../shared/pace.ts";

/** The most values of a body: a call's arguments for people and models have some hundred. */
const MAX_VALUES = 50_000;
/** The most messages of a body. */
export const MAX_BATCH = 100;

/** Who sends an HTTP request, as far as the HTTP server has found out. */
export interface McpCaller {
  /** The name that it proved to have; a session belongs to the one that opened it. */
  readonly principal?: string;
}

/** The names of {@linkcode McpCaller}. */
export const CALLER_NAMES = {
  principal: true,
} satisfies NamesOf<McpCaller>;

/** One view of an office over HTTP. */
export type HttpFace = ReturnType<typeof openFace>;

/** Serves one view over HTTP: of 2026-07-28 each request for itself, and before it in sessions. */
export function openFace(parts: ServerParts) {
  const { options, view } = parts;
  const { maxBodyBytes } = options;
  // Its own serving of 2025 has no streams, so that its clients are never notified.
  const modern = createMcpHandler(() => createOfficeServer(parts), {
    legacy: "reject",
    maxRequestBodySize: maxBodyBytes,
  });
  const sessions = new Sessions(parts);
  const off = view.onChange((event) => {
    modern.bus.publish(event);
    sessions.tell(event);
  });
  return {
    /** Whether clients before 2026 have sessions here. */
    hasSessions: (): boolean => sessions.size > 0,
    /** Answers one request, whose headers somebody has checked. */
    async serve(request: Request, caller: McpCaller): Promise<Response> {
      const body = await readBody(request, maxBodyBytes);
      if (body instanceof Response) return body;
      try {
        if (request.method !== "DELETE") await view.ready();
      } catch (error) {
        return refusal(503, messageOf(error));
      }
      const message: Message = { parsedBody: body.json, ...authInfoOf(caller) };
      if (await isLegacyRequest(request, body.json)) {
        return await sessions.serve(withPlainAccept(request), message);
      }
      const refused = refuseHeaders(request.headers, body.json, parts);
      if (refused) return refused;
      const end = wantListened(body.json, wantIn(parts));
      const answer = () =>
        keptAlive(
          request,
          (request) => modern.fetch(request, message),
          options.heartbeatMs,
        );
      return end ? await untilEnd(answer, end) : await answer();
    },
    /** Cancels all that runs, and ends all streams and sessions. */
    async close(): Promise<void> {
      off();
      await Promise.all([modern.close(), sessions.close()]);
    },
  };
}

/** What the MCP SDK hands through to handlers; it holds no token, since nobody checks one here. */
export const authInfoOf = (
  { principal }: McpCaller,
): Pick<Message, "authInfo"> =>
  principal === undefined
    ? {}
    : { authInfo: { token: "", clientId: principal, scopes: [] } };

/** Refuses a call whose headers differ from the arguments that they repeat; other headers are for the MCP SDK. */
function refuseHeaders(
  headers: Headers,
  body: unknown,
  { options, view }: ServerParts,
): Response | undefined {
  const { method, id, params } = Object(body);
  if (method !== "tools/call" || options.tools === "search") return undefined;
  const found = view.catalogue.find(`${Object(params).name}`);
  if (found?.kind !== "offered") return undefined;
  const { inputSchema } = found.shown;
  const problem = headerMismatch(inputSchema, params.arguments, headers);
  return problem === undefined
    ? undefined
    : refusal(400, problem, RpcError.HEADER_MISMATCH, id ?? null);
}

/** Reads a body once, for both eras; a refusal where that cannot be. */
export async function readBody(
  request: Request,
  maxBytes: number,
  maxValues = MAX_VALUES,
): Promise<{ json?: unknown } | Response> {
  if (request.method !== "POST") return {};
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refusal(415, "Content-Type must be application/json");
  }
  const body = await readRequestBody(request, maxBytes);
  if (body.tooLarge) {
    return refusal(413, `The body is too large: at most ${maxBytes} bytes`);
  }
  if (countValues(body.text, maxValues) > maxValues) {
    return refusal(
      413,
      `The body has too many values in lists and objects: at most ${maxValues} are let in; send less at once, or long data as one text`,
    );
  }
  let json: unknown;
  try {
    json = await inSlices(parsePieces(body.text));
  } catch {
    return refusal(400, "The body is no valid JSON", RpcError.PARSE);
  }
  if (Array.isArray(json) && json.length > MAX_BATCH) {
    return refusal(
      413,
      `The body has too many messages: ${json.length}, and at most ${MAX_BATCH} are let in`,
    );
  }
  return { json };
}
