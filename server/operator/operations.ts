/**
 * The operations of the operator API: one table, from which the routes and the OpenAPI document are
 * made.
 *
 * @module
 */
import {
  type ClientEvent,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
} from "../../protocol/mod.ts";
import * as z from "../../protocol/schema.ts";
import type { Operator, OperatorApi } from "./api.ts";
import type { Target } from "./ask.ts";
import * as schemas from "./schemas.ts";
import { titleOf } from "../../shared/http.ts";

/** A request for an operation. */
interface Call {
  /** Its sender. */
  readonly operator: Operator;
  /** Carries it out. */
  readonly api: OperatorApi;
  /** Returns a part of the path. */
  param(name: string): string;
  /** Returns a parameter of the query. */
  query(name: string): string | undefined;
  /**
   * Reads the body, of at most 16 KiB.
   *
   * @param size `message` for as much as a message of a client may have
   *
   * @throws {ProblemError} 400, 413, 415
   */
  body<S extends z.ZodMiniType>(
    schema: S,
    size?: "message",
  ): Promise<z.output<S>>;
  /** Aborted when the operator has stopped waiting. */
  readonly signal: AbortSignal;
}

/** An operation of the API: the table from which both the routes and their description are made. */
export interface Operation {
  readonly method: "get" | "post";
  /** The path after {@linkcode BASE_PATH}, with parameters as `{name}`. */
  readonly path: string;
  /** One line. */
  readonly summary: string;
  /** The parameters of the path, each with its description. */
  readonly params?: Readonly<Record<string, string>>;
  /** Those of the query, which may be absent, likewise. */
  readonly query?: Readonly<Record<string, string>>;
  /** The body, of a change. */
  readonly body?: z.ZodMiniType;
  /** Whether it may take so long that it ends with the credentials of its operator. */
  readonly isLong?: boolean;
  /** The answer. */
  readonly answer: z.ZodMiniType;
  /** Statuses of problems beyond those of every operation. */
  readonly problems?: readonly number[];
  /** Carries it out. */
  run(call: Call): unknown;
}

/** The path of the API. */
export const BASE_PATH = "/operator/v1";

const office = { office: "the id of an office" };

/** The common fields of questions to a Computer. */
const QUESTION = {
  params: { ...office, computer: "the name of a Computer" },
  problems: [404, 502, 504],
  isLong: true,
};

/** The common fields of changes. */
const CHANGE = {
  method: "post",
  answer: schemas.done,
  problems: [404],
} as const;

const readTarget = ({ param, signal }: Call): Target => ({
  office: param("office"),
  computer: param("computer"),
  signal,
});

/** Describes a list of an office. */
const listing = (
  kind: "members" | "calls",
  summary: string,
  answer: z.ZodMiniType,
): Operation => ({
  method: "get",
  path: `/offices/{office}/${kind}`,
  summary,
  params: office,
  answer,
  problems: [404],
  run: ({ api, operator, param }) => api.list(kind, operator, param("office")),
});

/** Describes a question to a Computer whose event has no fields of its own. */
const question = (
  path: string,
  subject: string,
  event: ClientEvent,
  answer: z.ZodMiniType,
): Operation => ({
  ...QUESTION,
  method: "get",
  path: `/offices/{office}/computers/{computer}/${path}`,
  summary: `Asks a Computer for its ${subject}; it may refuse operators`,
  answer,
  run: (call) => call.api.ask(call.operator, readTarget(call), event),
});

/** All operations but the stream of events and the description itself. */
export const OPERATIONS: readonly Operation[] = [
  {
    method: "get",
    path: "/status",
    summary: "Counts offices, members and pending calls",
    answer: schemas.status,
    run: ({ api, operator }) => api.status(operator),
  },
  {
    method: "get",
    path: "/offices",
    summary: "Lists the offices",
    answer: schemas.offices,
    run: ({ api, operator }) => api.offices(operator),
  },
  {
    method: "get",
    path: "/calls",
    summary:
      "Lists the pending calls of all offices, the oldest first, at most 1,000",
    answer: schemas.allCalls,
    run: ({ api, operator }) => api.allCalls(operator),
  },
  listing("members", "Lists the members of an office", schemas.members),
  listing("calls", "Lists the pending calls of an office", schemas.calls),
  {
    ...CHANGE,
    path: "/offices/{office}/calls/cancel",
    summary: "Ends a call for its Agent, and cancels it at its Computer",
    params: office,
    body: schemas.cancel,
    run: async ({ api, operator, param, body }) =>
      await api.change("cancel", operator, {
        ...await body(schemas.cancel),
        by: operator.principal,
        office: param("office"),
      }),
  },
  question("tools", "tools", GET_TOOLS_EVENT, schemas.tools),
  question("config", "MCP servers", GET_CONFIG_EVENT, schemas.config),
  question("desktop", "windows", GET_DESKTOP_EVENT, schemas.desktop),
  {
    ...QUESTION,
    method: "post",
    path: "/offices/{office}/computers/{computer}/call",
    summary:
      "Calls a tool of a Computer, which confirms it as it would for an Agent; it may refuse operators",
    body: schemas.callTool,
    answer: schemas.result,
    run: async (call) => {
      const { tool_name, params, timeout_ms, req_id: reqId } = await call.body(
        schemas.callTool,
        "message",
      );
      const timeout = Math.ceil(timeout_ms / 1000);
      return await call.api.ask(
        call.operator,
        { ...readTarget(call), reqId },
        TOOL_CALL_EVENT,
        { tool_name, params, timeout },
      );
    },
  },
  {
    ...CHANGE,
    path: "/members/{id}/kick",
    summary: "Kicks a member out of its office",
    params: { id: "the id of a member" },
    body: schemas.kick,
    run: async ({ api, operator, param, body }) =>
      await api.change("kick", operator, {
        ...await body(schemas.kick),
        by: operator.principal,
        policy: operator.policy,
        id: param("id"),
      }),
  },
  {
    method: "get",
    path: "/grants",
    summary:
      "Lists what persons have allowed programs that signed in, the newest first; 404 where sign-in is off",
    query: {
      office: "those in this office alone",
      principal: 'those of this key, such as "key:" and its id',
    },
    answer: schemas.grants,
    problems: [404],
    run: ({ api, operator, query }) => {
      const office = query("office");
      const principal = query("principal");
      return api.grants(operator, {
        ...(office !== undefined && { office }),
        ...(principal !== undefined && { principal }),
      });
    },
  },
  {
    ...CHANGE,
    path: "/grants/end",
    summary:
      "Ends the grant with an id, or all of a key or an office: its program has to sign in again",
    body: schemas.endGrants,
    answer: schemas.ended,
    run: async ({ api, operator, body }) =>
      await api.endGrants(operator, await body(schemas.endGrants)),
  },
  {
    ...CHANGE,
    path: "/keys/revoke",
    summary: "Refuses a key until the Server reads its keys again",
    body: schemas.revoke,
    run: async ({ api, operator, body }) =>
      await api.change("revoke", operator, {
        ...await body(schemas.revoke),
        by: operator.principal,
      }),
  },
];

/** Statuses of problems that every operation may have. */
const PROBLEMS = [400, 401, 403, 429, 500, 503];
/** Those of operations with a body. */
const BODY_PROBLEMS = [413, 415];

/** The path of the description. */
export const OPENAPI_PATH = "/openapi.json";
/** The path of the stream of events. */
export const EVENTS_PATH = "/events";

/** Describes the API for OpenAPI 3.1, whose schemas are JSON Schema as zod writes it. */
export function openApi(version: string): Readonly<Record<string, unknown>> {
  return {
    openapi: "3.1.0",
    info: {
      title: "Operator API of an A2C-SMCP Server",
      version,
      description:
        "Views and changes of a Server, for its operators. Off (404) unless credentials with the role operator can exist, or the Server printed a token at its start.",
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key or a JWT with the role operator, or the token that the Server printed. No other header and no cookie counts.",
        },
      },
      schemas: { Problem: jsonSchema(schemas.problem) },
    },
    paths: {
      ...Object.fromEntries(OPERATIONS.map((operation) => [
        BASE_PATH + operation.path,
        { [operation.method]: describe(operation) },
      ])),
      [BASE_PATH + EVENTS_PATH]: { get: events() },
      [BASE_PATH + OPENAPI_PATH]: {
        get: {
          summary: "Describes the API",
          responses: {
            200: jsonContent({ type: "object" }, "This document"),
            ...problemResponses(PROBLEMS),
          },
        },
      },
    },
  };
}

const describe = (
  { summary, params, query, body, answer, problems = [] }: Operation,
): Record<string, unknown> => ({
  summary,
  ...((params || query) && {
    parameters: [
      ...Object.entries(params ?? {}).map(([name, description]) =>
        parameter(name, "path", description)
      ),
      ...Object.entries(query ?? {}).map(([name, description]) =>
        parameter(name, "query", description)
      ),
    ],
  }),
  ...(body && {
    requestBody: {
      required: true,
      content: { "application/json": { schema: jsonSchema(body, "input") } },
    },
  }),
  responses: {
    200: jsonContent(jsonSchema(answer), "Done"),
    ...problemResponses([
      ...PROBLEMS,
      ...problems,
      ...(body ? BODY_PROBLEMS : []),
    ]),
  },
});

/** Made when it is requested: its schema takes 2 ms, which is no part of a Server's start. */
const events = () => ({
  summary: "Streams events, as server-sent events",
  description:
    "The first event, open, has missed: whether events were lost since Last-Event-ID; if so, read the lists again. The others are those of the audit log, and call_began and call_ended for each request; of the whole Server, with lines of its log as log, only for operators of all offices. The last event, end, has the reason.",
  parameters: [
    parameter("office", "query", "events of this office alone"),
    parameter(
      "Last-Event-ID",
      "header",
      "the id of the last event that was read",
    ),
  ],
  responses: {
    200: jsonContent(
      jsonSchema(schemas.event),
      "The data of each event is JSON",
      "text/event-stream",
    ),
    ...problemResponses(PROBLEMS),
  },
});

const parameter = (
  name: string,
  place: "path" | "query" | "header",
  description: string,
) => ({
  name,
  in: place,
  required: place === "path",
  description,
  schema: { type: "string" },
});

const jsonContent = (
  schema: Readonly<Record<string, unknown>>,
  description: string,
  type = "application/json",
) => ({ description, content: { [type]: { schema } } });

function problemResponses(statuses: readonly number[]) {
  const schema = { $ref: "#/components/schemas/Problem" };
  return Object.fromEntries(statuses.map((status) => [
    status,
    jsonContent(schema, titleOf(status), "application/problem+json"),
  ]));
}

function jsonSchema(
  schema: z.ZodMiniType,
  io: "input" | "output" = "output",
): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io });
  return json;
}
