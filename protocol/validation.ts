/**
 * What the payloads have in common: parsers, plain values, identifiers, durations and names of offices.
 *
 * @module
 */
import { ErrorCode, ProtocolError } from "./errors.ts";
import { hasNoControl, isIdentifier, isWellFormed } from "./names.ts";
import * as z from "./schema.ts";

export * from "./schema.ts";

/**
 * Parses unknown wire data; unknown fields pass through, and no value is coerced (protocol §1, §4).
 *
 * @throws {ProtocolError} 400 that names each invalid field, also in `details.fields`
 */
export type Parser<T> = (data: unknown) => T;

/** Maximum number of invalid fields that an error names; a hostile payload can have any number. */
const NAMED_FIELDS = 10;

/**
 * Creates a {@linkcode Parser} from a schema, so that callers do not depend on the validation library.
 *
 * @param isCertain a fast path: data that it accepts is valid, and passes as it is
 */
export const parser = <T>(
  schema: z.ZodMiniType<T>,
  isCertain?: (data: unknown) => data is T,
): Parser<T> =>
(data) => {
  if (isCertain?.(data)) return data;
  const result = schema.safeParse(data, z.ENGLISH);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, NAMED_FIELDS).map((issue) => ({
    field: issue.path.map(String).join(".") || "payload",
    problem: issue.message,
  }));
  throw new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Invalid payload: ${
      issues.map((i) => `${i.field}: ${i.problem}`).join("; ")
    }`,
    { details: { fields: issues.map((i) => i.field) } },
  );
};

/** Returns whether data is a JSON object. */
export const isPlainObject = (data: unknown): data is Record<string, unknown> =>
  Object.prototype.toString.call(data) === "[object Object]";

/** A JSON object, passed through unchanged: `z.record()` would copy it, and drop a key named `__proto__`. */
export const plainObject = z.custom<Record<string, unknown>>(
  isPlainObject,
  "Invalid input: expected object",
);

/**
 * The item schemas of lists and maps. Their transforms hide them from `z.toJSONSchema()`, which
 * generates the schema of the configuration file.
 */
export const partsOf = new WeakMap<
  z.core.$ZodType,
  { items: z.core.$ZodType } | { values: z.core.$ZodType }
>();

/** A list whose validation stops at the first invalid item: `z.array()` reports each, and a hostile list has millions. */
export const listOf = <T>(item: z.ZodMiniType<T>) => {
  const collect = z.transform((items: unknown[], context): T[] => {
    const parsed: T[] = [];
    for (const [index, data] of items.entries()) {
      const result = item.safeParse(data, z.ENGLISH);
      if (!result.success) return stop(context, index, result.error);
      parsed.push(result.data);
    }
    return parsed;
  });
  const list = z.pipe(z.array(z.unknown()), collect);
  partsOf.set(list, { items: item });
  return list;
};

/** A map by name whose validation stops at the first invalid value, for the same reason. */
export const mapOf = <T>(value: z.ZodMiniType<T>) => {
  const collect = z.transform(
    (data: Record<string, unknown>, context): Record<string, T> => {
      const parsed: [string, T][] = [];
      for (const [name, entry] of Object.entries(data)) {
        const result = value.safeParse(entry, z.ENGLISH);
        if (!result.success) return stop(context, name, result.error);
        parsed.push([name, result.data]);
      }
      return Object.fromEntries(parsed);
    },
  );
  const map = z.pipe(plainObject, collect);
  partsOf.set(map, { values: value });
  return map;
};

function stop(
  context: z.core.ParsePayload,
  at: string | number,
  { issues: [issue] }: z.core.$ZodError,
): never {
  // Of the same kind, only further up; a failure has an issue.
  context.issues.push({
    ...issue,
    input: context.value,
    path: [at, ...issue?.path ?? []],
  } as z.core.$ZodRawIssue);
  return z.NEVER;
}

/** A field that may be absent or null. */
export const maybe = <T extends z.core.SomeType>(schema: T) =>
  z.exactOptional(z.nullable(schema));

/** `req_id`, `tool_name`, `mcp_server`: 1 to 256 UTF-16 units (protocol §4). */
export const identifier = z.string()
  .check(z.refine(isIdentifier, "expected 1 to 256 characters"));

/** A text of limited length in UTF-16 units. */
export const textOf = (min: number, max: number) =>
  z.string().check(z.refine(
    (text) => text.length >= min && text.length <= max,
    `expected ${min} to ${max} characters`,
  ));

/** `agent` and `computer`: an identifier that is well-formed Unicode (protocol §4). */
export const memberName = identifier.check(
  z.refine(isWellFormed, "must not contain lone surrogates"),
);

/** `name` and `office_id`: the same without control characters (protocol §5). */
export const officeIdentifier = memberName.check(
  z.refine(hasNoControl, "must not contain control characters"),
);

/** The time that a request may take: 1 to 3600 s (protocol §4). */
export const timeoutSeconds = z.int().check(z.minimum(1), z.maximum(3600));

/** A number of bytes, items or pages. */
export const count = z.int().check(z.minimum(0));

/** `AgentCallData`, the base of every request of an Agent (protocol §4). */
export const agentCallDataShape = {
  agent: memberName,
  req_id: identifier,
};

/** A request that the Server routes to a Computer, with fields of its own (protocol §4). */
export const computerCall = <S extends z.core.$ZodLooseShape>(fields: S) =>
  z.looseObject({ ...agentCallDataShape, computer: memberName, ...fields });

/** The answer to it. */
export const answer = <S extends z.core.$ZodLooseShape>(fields: S) =>
  z.looseObject({ ...fields, req_id: z.string() });

/** The parsers of an event that the Server routes to a Computer. */
export const routed = <Q, A>(
  request: z.ZodMiniType<Q>,
  answer: z.ZodMiniType<A>,
): { parseRequest: Parser<Q>; parseAnswer: Parser<A> } => ({
  parseRequest: parser(request),
  parseAnswer: parser(answer),
});

/** The identity of an MCP server, and no `__`, which stands between it and a tool's name. */
/** @internal */
export const BUNDLE_ID: RegExp = /^(?!.*__)[A-Za-z0-9_-]+$/;

/** Returns whether data is a valid {@linkcode bundleId}. */
export const isBundleId = (data: unknown): data is string =>
  typeof data === "string" && BUNDLE_ID.test(data);

/** `bundle_id`, since 0.3: what identifies an MCP server at its Computer (protocol §13). */
export const bundleId = z.string().check(z.refine(
  isBundleId,
  'expected letters, digits, "_" and "-", without "__"; leave it out to derive it from the name',
));

/** Returns what is left of a name that may be part of an id; undefined if nothing is. */
export function nameOnly(name: string): string | undefined {
  // By code point, hence the flag: an emoji is one "_", as in languages without surrogates.
  const left = name.replaceAll(/[^A-Za-z0-9_-]/gu, "_")
    .replaceAll(/_+/g, "_")
    .replaceAll(/^[_-]+|[_-]+$/g, "");
  return left === "" ? undefined : left;
}

/** @internal Either weeks, or days and a time; years and months have no fixed length. */
export const ISO_DURATION =
  /^P(?:(\d+(?:\.\d+)?)W|(?:(\d+(?:\.\d+)?)D)?(?:T(?=\d)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?)$/;

const SECONDS_PER_UNIT = [7 * 86_400, 86_400, 3_600, 60, 1];

/**
 * Parses an ISO 8601 duration such as `PT30S` or `P1DT2H`; returns seconds (protocol §4).
 *
 * @throws {TypeError} for anything else, including years and months
 */
export function parseDuration(text: string): number {
  const parts = ISO_DURATION.exec(text)?.slice(1);
  if (!parts?.some((part) => part !== undefined)) {
    const got = JSON.stringify(text);
    throw new TypeError(
      `expected an ISO 8601 duration such as "PT30S", got ${got}`,
    );
  }
  return SECONDS_PER_UNIT.reduce(
    (sum, unit, i) => sum + unit * Number(parts[i] ?? 0),
    0,
  );
}
