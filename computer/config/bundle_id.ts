import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { nameOnly } from "../../protocol/validation.ts";
import type { ServerConfig } from "./server_config.ts";

/** How an MCP server is reached, as far as it tells servers apart; placeholders are not filled in. */
export type ConnectionIdentity =
  | {
    readonly type: "stdio";
    readonly command: string;
    readonly args?: readonly string[] | null | undefined;
    readonly env?: Texts | null | undefined;
  }
  | {
    readonly type: "streamable" | "sse";
    readonly url: string;
    readonly headers?: Texts | null | undefined;
  }
  | { readonly type: "in-process"; readonly name: string };

/** Texts by key; other simple values count as they are written in JSON. */
type Texts = Readonly<Record<string, string | number | boolean>>;

/** Bytes of the digest that stand for a name without any letter that an id may have. */
const DIGEST_BYTES = 8;

/** Returns what identifies an MCP server: its explicit `bundle_id`, or the derived one (0.4 §3). */
export const bundleIdOf = (config: ServerConfig): string =>
  config.bundle_id ?? deriveBundleId(config.name, identityOf(config));

/**
 * Derives the `bundle_id` of an MCP server, byte for byte as every SDK does (0.4 §3.2).
 *
 * From the configuration with its placeholders, so that another secret does not rename its tools.
 */
export const deriveBundleId = (
  name: string,
  connection: ConnectionIdentity,
): string => nameOnly(name) ?? `bundle_${digestOf(connection)}`;

function identityOf(config: ServerConfig): ConnectionIdentity {
  switch (config.type) {
    case "stdio":
      return { type: "stdio", ...config.server_parameters };
    case "streamable":
    case "sse":
      return { type: config.type, ...config.server_parameters };
    case "in-process": // nothing else is known of it; a name is given to one only
      return { type: config.type, name: config.name };
  }
}

function digestOf(connection: ConnectionIdentity): string {
  const hash = createHash("sha256");
  for (const part of partsOf(connection)) hash.update(part);
  return hash.digest().subarray(0, DIGEST_BYTES).toString("hex");
}

function partsOf(connection: ConnectionIdentity): Uint8Array[] {
  const type = text(connection.type);
  switch (connection.type) {
    case "stdio": {
      const { command, args, env } = connection;
      const list = args ?? [];
      return [
        ...type,
        ...text(command),
        count(list.length),
        ...list.flatMap(text),
        ...map(env ?? {}),
      ];
    }
    case "streamable":
    case "sse": {
      const { url, headers } = connection;
      return [...type, ...text(url), ...map(headers ?? {})];
    }
    case "in-process":
      return [...type, ...text(connection.name)];
  }
}

const map = (texts: Texts): Uint8Array[] => {
  const entries = Object.entries(texts).map(([key, value]) => ({
    key,
    bytes: utf8(key),
    value,
  })).sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  return [
    count(entries.length),
    ...entries.flatMap(({ key, value }) => [...text(key), ...text(`${value}`)]),
  ];
};

const text = (value: string): Uint8Array[] => {
  const bytes = utf8(value);
  return [count(bytes.length), bytes];
};

/** A 32-bit number, big endian. */
function count(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

/** UTF-8; half of a surrogate pair, which no other language has, counts as U+FFFD. */
const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value);
