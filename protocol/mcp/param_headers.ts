/**
 * Arguments of tools that clients repeat in HTTP headers (MCP 2026-07-28, `x-mcp-header`).
 *
 * The schema of a tool marks them, so that proxies can route calls by `Mcp-Param-…` without reading
 * bodies. A Server refuses a call whose headers and arguments differ: a proxy may have decided by the
 * one what is then done with the other.
 *
 * @module
 */
import { isRecord } from "../names.ts";

/** An argument that is repeated in a header. */
export interface HeaderMark {
  /** The name of the header. */
  readonly header: string;
  /** Where it is in the arguments. */
  readonly path: readonly string[];
  /** Its type in JSON Schema. */
  readonly type: string;
}

const KEYWORD = "x-mcp-header";
/** A part of a header's name (RFC 9110). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The types of values that fit into a header. `number` is not allowed, but compared where it is there. */
const TYPES = ["string", "boolean", "integer", "number"];

/**
 * Lists the marked arguments of a schema.
 *
 * @returns undefined where a mark is invalid, since clients skip such a tool
 */
export function headerMarks(
  schema: unknown,
): readonly HeaderMark[] | undefined {
  const found: HeaderMark[] = [];
  const names = new Set<string>();
  // Not recursive: how deep a schema may be is for others to limit.
  const pending: { node: unknown; path: readonly string[] }[] = [
    { node: schema, path: [] },
  ];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node, path } = next;
    if (!isRecord(node)) continue;
    if (Object.hasOwn(node, KEYWORD)) {
      const name = node[KEYWORD];
      const isValid = path.length > 0 && typeof name === "string" &&
        TOKEN.test(name) && TYPES.includes(`${node.type}`) &&
        !names.has(name.toLowerCase());
      if (!isValid) return undefined;
      names.add(name.toLowerCase());
      const type = `${node.type}`;
      found.push({ header: `Mcp-Param-${name}`, path, type });
    }
    for (
      const [key, child] of Object.entries(Object(node.properties ?? {}))
    ) {
      pending.push({ node: child, path: [...path, key] });
    }
  }
  return found;
}

/** Returns the header's text of an argument; undefined for one that has none. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return typeof value === "number" &&
      (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? String(value)
    : undefined;
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** Begins and ends a value in base64. */
const ENCODED = /^=\?base64\?([^]*)\?=$/;
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** What a header carries as it is, but at its ends. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Returns a text as a header carries it. */
export function headerText(text: string): string {
  if (PLAIN.test(text) && text === text.trim() && !ENCODED.test(text)) {
    return text;
  }
  const bytes = Array.from(
    new TextEncoder().encode(text),
    (byte) => String.fromCharCode(byte),
  );
  return `=?base64?${btoa(bytes.join(""))}?=`;
}

/** @returns undefined where the base64, or the UTF-8 in it, is invalid */
function decoded(value: string): string | undefined {
  const [, base64] = ENCODED.exec(value) ?? [];
  if (base64 === undefined) return value;
  if (!BASE64.test(base64)) return undefined;
  const bytes = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(bytes);
  } catch {
    return undefined;
  }
}

const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * Compares the headers of a call with its arguments.
 *
 * @param schema of the tool's input
 * @returns the problem, for the person who runs the client; undefined if there is none
 */
export function headerMismatch(
  schema: unknown,
  args: unknown,
  headers: Pick<Headers, "get">,
): string | undefined {
  for (const { header, path, type } of headerMarks(schema) ?? []) {
    const value = valueAt(args, path);
    const expected = textOf(value);
    if (expected === undefined) continue;
    const given = headers.get(header);
    const name = path.join(".");
    if (given === null) {
      return `The argument ${name} has a value, and the header ${header} is missing: send it, by ${KEYWORD} of inputSchema`;
    }
    const text = decoded(given);
    if (text === undefined) {
      return `The header ${header} is not valid base64 of UTF-8`;
    }
    const isNumber = type === "integer" || type === "number";
    const isEqual = isNumber && typeof value === "number" && DECIMAL.test(text)
      ? Number(text) === value
      : text === expected;
    if (!isEqual) {
      return `The header ${header} differs from the argument ${name}: send the same value in both`;
    }
  }
  return undefined;
}

/** Makes the headers that repeat arguments of a call, as {@linkcode headerMismatch} compares them. */
export function paramHeaders(
  schema: unknown,
  args: unknown,
): Record<string, string> {
  return Object.fromEntries(
    (headerMarks(schema) ?? []).flatMap(({ header, path }) => {
      const text = textOf(valueAt(args, path));
      return text === undefined ? [] : [[header, headerText(text)]];
    }),
  );
}

/** Returns whether a client may call a tool of this schema over HTTP: each mark is valid, and none on a `number`. */
export const hasValidMarks = (schema: unknown): boolean =>
  headerMarks(schema)?.every(({ type }) => type !== "number") ?? false;
