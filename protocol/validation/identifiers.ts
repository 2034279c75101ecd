import { hasNoControl, isIdentifier } from "./office_name.ts";
import * as z from "./schema.ts";

/** `agent`, `req_id`, `computer`, `tool_name`, `mcp_server`: 1 to 256 UTF-16 units (spec §4). */
export const identifier = z.string()
  .check(z.refine(isIdentifier, "expected 1 to 256 characters"));

/** A text of limited length in UTF-16 units. */
export const textOf = (min: number, max: number) =>
  z.string().check(z.refine(
    (text) => text.length >= min && text.length <= max,
    `expected ${min} to ${max} characters`,
  ));

/** `name` and `office_id`: an identifier without control characters (spec §5). */
export const officeIdentifier = identifier.check(
  z.refine(hasNoControl, "must not contain control characters"),
);

/** The time that a request may take: 1 to 3600 s (spec §4). */
export const timeoutSeconds = z.int().check(z.minimum(1), z.maximum(3600));

/** `AgentCallData`, the base of every request of an Agent (spec §4). */
export const agentCallDataShape = { agent: identifier, req_id: identifier };

/** The base of every request that the Server routes to a Computer (spec §4). */
export const computerCallShape = {
  ...agentCallDataShape,
  computer: identifier,
};

/** The identity of an MCP server, and no `__`, which stands between it and a tool's name. */
/** @internal */
export const BUNDLE_ID: RegExp = /^(?!.*__)[A-Za-z0-9_-]+$/;

/** Returns whether data is a valid {@linkcode bundleId}. */
export const isBundleId = (data: unknown): data is string =>
  typeof data === "string" && BUNDLE_ID.test(data);

/** `bundle_id`, since 0.3: what identifies an MCP server at its Computer (0.4 §3.1). */
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
