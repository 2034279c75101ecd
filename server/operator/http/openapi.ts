import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { eventSchema, problemSchema } from "../schemas.ts";
import { BASE_PATH, type Operation, OPERATIONS } from "./operations.ts";

/** Statuses of problems that every operation may have. */
const PROBLEMS = [400, 401, 403, 429, 500, 503];
/** Those of operations with a body. */
const BODY_PROBLEMS = [413, 415];

/** Where the description is. */
export const OPENAPI_PATH = "/openapi.json";
/** Where the stream is. */
export const EVENTS_PATH = "/events";

/** Describes the API for OpenAPI 3.1, whose schemas are JSON Schema as zod writes it. */
export function openApi(version: string): Readonly<Record<string, unknown>> {
  return {
    openapi: "3.1.0",
    info: {
      title: "Operator API of an A2C-SMCP Server",
      version,
      description:
        "What happens on a Server, for its operators. Off (404) unless credentials with the role operator can exist, or the Server printed a token when it began.",
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
      schemas: { Problem: jsonOf(problemSchema) },
    },
    paths: {
      ...pathsOf(OPERATIONS),
      [BASE_PATH + EVENTS_PATH]: { get: EVENTS },
      [BASE_PATH + OPENAPI_PATH]: {
        get: {
          summary: "Describes the API",
          responses: {
            200: {
              description: "This document",
              content: { "application/json": { schema: { type: "object" } } },
            },
            ...problemsOf(PROBLEMS),
          },
        },
      },
    },
  };
}

function pathsOf(
  operations: readonly Operation[],
): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = paths[BASE_PATH + operation.path] ??= {};
    path[operation.method] = describe(operation);
  }
  return paths;
}

const describe = (
  { summary, params, query = {}, body, answer, problems }: Operation,
): Record<string, unknown> => ({
  summary,
  ...(Object.keys({ ...params, ...query }).length > 0 && {
    parameters: [
      ...parametersOf(params, "path"),
      ...parametersOf(query, "query"),
    ],
  }),
  ...(body && {
    requestBody: {
      required: true,
      content: { "application/json": { schema: jsonOf(body, "input") } },
    },
  }),
  responses: {
    200: {
      description: "Done",
      content: { "application/json": { schema: jsonOf(answer) } },
    },
    ...problemsOf([...PROBLEMS, ...problems, ...(body ? BODY_PROBLEMS : [])]),
  },
});

const parametersOf = (
  parameters: Readonly<Record<string, string>>,
  place: "path" | "query",
): Record<string, unknown>[] =>
  Object.entries(parameters).map(([name, description]) => ({
    name,
    in: place,
    required: place === "path",
    description,
    schema: { type: "string" },
  }));

const EVENTS = {
  summary: "Streams what happens, as server-sent events",
  description:
    "The first event, open, says with missed whether events were lost since Last-Event-ID: read the lists again then. The others are those of the audit log, and call_began and call_ended for each request; of the whole Server, with lines of its log as log, only for operators of all offices. The last event, end, has the reason.",
  parameters: [
    {
      name: "office",
      in: "query",
      required: false,
      description: "events of this office alone",
      schema: { type: "string" },
    },
    {
      name: "Last-Event-ID",
      in: "header",
      required: false,
      description: "the id of the last event that was read",
      schema: { type: "string" },
    },
  ],
  responses: {
    200: {
      description: "The data of each event is JSON",
      content: { "text/event-stream": { schema: jsonOf(eventSchema) } },
    },
    ...problemsOf(PROBLEMS),
  },
};

function problemsOf(
  statuses: readonly number[],
): Record<number, Record<string, unknown>> {
  const schema = { $ref: "#/components/schemas/Problem" };
  return Object.fromEntries(statuses.map((status) => [status, {
    description: STATUS_CODES[status],
    content: { "application/problem+json": { schema } },
  }]));
}

function jsonOf(
  schema: z.ZodType,
  io: "input" | "output" = "output",
): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io });
  return json;
}
