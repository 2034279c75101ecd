import { Buffer } from "node:buffer";
import { isRecord } from "../util/values.ts";

/** What a handle says: who resolves it, and what that one wrote into it. Anybody can write one. */
export interface BlobHandle {
  /** Who resolves it. */
  readonly kind: string;
  /** Further fields, for that one alone. */
  readonly [field: string]: unknown;
}

/** Writes a handle, which is opaque to Agents (0.4 §7.1). */
export const writeHandle = (handle: BlobHandle): string =>
  Buffer.from(JSON.stringify(handle)).toString("base64url");

/** Reads a handle; `undefined` if this Computer cannot have written it. */
export function readHandle(text: string): BlobHandle | undefined {
  try {
    const handle: unknown = JSON.parse(
      Buffer.from(text, "base64url").toString(),
    );
    return isRecord(handle) && isHandle(handle) && writeHandle(handle) === text
      ? handle
      : undefined;
  } catch {
    return undefined;
  }
}

const isHandle = (
  fields: Record<string, unknown>,
): fields is Record<string, unknown> & BlobHandle =>
  typeof fields.kind === "string";
