/**
 * Commands of A2C-SMCP that share the seat of an office with its MCP clients.
 *
 * They send the requests of an Agent (protocol/shared_seat.ts), which the Agent of the seat repeats: a
 * command gets the answers of the Computers as they are, and not what MCP makes of them.
 *
 * @module
 */
import {
  createMcpHandler,
  type McpHttpHandler,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { readBody } from "./body.ts";
import { type McpCaller, toAuthInfo } from "../caller.ts";
import type { McpCall } from "../options.ts";
import type { SmcpAgent } from "../../agent/mod.ts";
import { invalidParams } from "../tools/result.ts";
import { ANSWER_GRACE_MS, requestsOf } from "../../agent/requests.ts";
import {
  ErrorCode,
  PROTOCOL_VERSION,
  ProtocolError,
} from "../../protocol/mod.ts";
import {
  type Bound,
  MAX_MEMBERS,
  REQUEST_BOUNDS,
} from "../../protocol/event_table.ts";
import { TOOL_CALL_EVENT } from "../../protocol/events.ts";
import {
  isShareable,
  OWN_METHODS,
  SEAT_SHARED,
  SHARE_SEAT,
  SHARED_PROGRESS,
  SHARED_REQUEST,
} from "../../protocol/shared_seat.ts";
import { plainObject } from "../../protocol/validation.ts";
import * as z from "../../protocol/validation.ts";
import { onAbort } from "../../shared/async.ts";
import { weighing } from "../../shared/json/values.ts";
import { inSlices } from "../../shared/pace.ts";

/** What a {@linkcode SeatDoor} works with. */
export interface SeatDoorParts {
  /** Takes the seat, unless it is taken. */
  readonly take: () => Promise<SmcpAgent>;
  /** Notes that a request is in flight; returns what ends it. */
  readonly admit: (
    call: Pick<McpCall, "reqId" | "principal" | "client">,
  ) => () => void;
  /** The largest message, in bytes. */
  readonly maxBytes: number;
}

/** Whether a request is one of a command that shares the seat, by its header `Mcp-Method`. */
export const isForSeat = (method: unknown): boolean =>
  typeof method === "string" && method.startsWith(OWN_METHODS);

/** Where commands share the seat of one office. */
export class SeatDoor {
  readonly #maxBytes: number;
  readonly #handler: McpHttpHandler;

  constructor(parts: SeatDoorParts) {
    this.#maxBytes = parts.maxBytes;
    this.#handler = createMcpHandler(() => createSeatServer(parts), {
      legacy: "reject",
      responseMode: "sse",
      maxRequestBodySize: parts.maxBytes,
    });
  }

  /** Answers one request, which {@linkcode isForSeat}. */
  async handle(request: Request, caller: McpCaller): Promise<Response> {
    const body = await readBody(request, this.#maxBytes, MOST_VALUES);
    if (body instanceof Response) return body;
    const message = { parsedBody: body.json, ...toAuthInfo(caller.principal) };
    return await this.#handler.fetch(request, message);
  }

  /** Cancels all requests. */
  close(): Promise<void> {
    return this.#handler.close();
  }
}

/** What a request has around its payload, in values. */
const ENVELOPE_VALUES = 100;
/** The most values of a body: each event has its own bound. */
const MOST_VALUES = ENVELOPE_VALUES +
  Math.max(...Object.values(REQUEST_BOUNDS).map(({ values }) => values));

const PARAMS = z.looseObject({});
const REQUEST = z.looseObject({ event: z.string(), payload: plainObject });

function createSeatServer(parts: SeatDoorParts): Server {
  const info = { name: "a2c-smcp", version: PROTOCOL_VERSION };
  const server = new Server(info, { capabilities: {} });
  server.setRequestHandler(
    SHARE_SEAT,
    { params: PARAMS },
    async (_, { mcpReq: { signal, notify } }) => {
      await parts.take();
      const params = { max_payload: parts.maxBytes };
      await notify({ method: SEAT_SHARED, params });
      await new Promise<void>((resolve) => onAbort(signal, resolve));
      return {};
    },
  );
  server.setRequestHandler(
    SHARED_REQUEST,
    { params: REQUEST },
    async ({ event, payload }, context) => ({
      answer: await pass(parts, { event, payload }, server, context),
    }),
  );
  return server;
}

/**
 * Repeats the request of a command as the Agent of the seat; a refusal is an answer, too.
 *
 * @throws {Error} there is no seat, or no answer
 */
async function pass(
  { take, admit }: SeatDoorParts,
  { event, payload }: {
    readonly event: string;
    readonly payload: Record<string, unknown>;
  },
  server: Server,
  { mcpReq: { signal, notify }, http }: ServerContext,
): Promise<unknown> {
  if (!isShareable(event)) {
    throw invalidParams(
      `Cannot send ${JSON.stringify(event)} by a shared seat`,
    );
  }
  const excess = await excessOf(REQUEST_BOUNDS[event], payload);
  if (excess) return excess.toPayload();
  const requests = requestsOf(await take());
  const reqId = crypto.randomUUID();
  const principal = http?.authInfo?.clientId;
  const client = server.getClientVersion();
  const ended = admit({
    reqId,
    ...(principal !== undefined && { principal }),
    ...(client && { client }),
  });
  const unfollow = requests.follow(reqId, (progress) => {
    notify({ method: SHARED_PROGRESS, params: { ...progress } }).catch(() => {
      // The command has gone; its request ends by itself.
    });
  });
  const { timeout } = payload;
  const timeoutMs = typeof timeout === "number"
    ? timeout * 1000 + ANSWER_GRACE_MS
    : undefined;
  try {
    return await requests.send(event, payload, { reqId, signal, timeoutMs });
  } catch (error) {
    if (signal.aborted && event === TOOL_CALL_EVENT) requests.cancel(reqId);
    if (error instanceof ProtocolError) return error.toPayload();
    throw error;
  } finally {
    unfollow();
    ended();
  }
}

/**
 * Returns why a request is not let in, as the Server does for those that reach it as text (protocol §10);
 * `undefined` when it is.
 */
async function excessOf(
  most: Bound,
  payload: Record<string, unknown>,
): Promise<ProtocolError | undefined> {
  const { values } = await inSlices(weighing(payload));
  const found = [
    ["bytes", most.bytes === Infinity ? 0 : bytesOf(payload), most.bytes],
    ["members", Object.keys(payload).length, MAX_MEMBERS],
    ["values", values, most.values],
  ] as const;
  const over = found.find(([, count, max]) => count > max);
  if (over === undefined) return undefined;
  const [limit, count, max] = over;
  return new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Invalid payload: it has ${count} ${limit}, and may have at most ${max}`,
    { fields: { limit, count, max } },
  );
}

const bytesOf = (payload: object): number =>
  new TextEncoder().encode(JSON.stringify(payload)).length;
