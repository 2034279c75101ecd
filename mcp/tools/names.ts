/**
 * The names of tools and prompts, as MCP clients and models see them.
 *
 * A name is a function of what it names: of Computer, MCP server and tool, and of the Computer's
 * configuration. Neither time nor order nor what else is there makes a difference, since clients keep
 * names in prompts, allow-lists and caches.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  hasHash,
  isPlainName,
  NAME_HASH,
  NAME_SEPARATOR as SEPARATOR,
} from "../../shared/checks.ts";

/** Letters of a hash; each is five bits. */
const COMPUTER_HASH_LENGTH = 8;
const TOOL_HASH_LENGTH = 10;

/** Our own tools for desktops and documents. */
export const DESKTOP_TOOL_NAMES: ReadonlySet<string> = new Set([
  "desktop",
  "find_documents",
  "read_document",
]);

/** How the tools of an office are named. */
export interface Naming {
  /** The most characters of a name. */
  readonly limit: number;
  /** Whether names begin with their Computer; not where there is one Computer only. */
  readonly prefix: boolean;
  /** Names that are taken: a tool that would have one gets a hash. */
  readonly reserved?: ReadonlySet<string>;
}

/** A tool or prompt to be named. */
export interface NameParts {
  /** The Computer that has it. */
  readonly computer: string;
  /** Its MCP server; absent in a name without. */
  readonly server?: string | undefined;
  /** Its own name there. */
  readonly own: string;
}

/**
 * Names a tool for MCP clients and models: `laptop__echo`, or `laptop__files__echo` with its server,
 * of `A-Z a-z 0-9 _ -` alone.
 *
 * What had to be cut or replaced is made up for by `--` and a hash of the originals, with which no
 * other name ends. The way back is a table.
 */
export function toolName(parts: NameParts, naming: Naming): string {
  const { computer, server, own } = parts;
  const { limit, reserved } = naming;
  const start = startOf(computer, naming);
  const isPlain = (server === undefined || isPlainName(server, limit)) &&
    /^[\w-]+$/.test(own) && !hasHash(own);
  const owner = server === undefined ? "" : server + SEPARATOR;
  const name = start + owner + own;
  if (isPlain && name.length <= limit && !reserved?.has(name)) return name;
  return hashedName(parts, start, limit);
}

/**
 * Names a skill, which has no MCP server: `laptop__forms`. One with `__` gets a hash, since the rest of
 * the name of a tool or prompt with its MCP server has that, too.
 */
export function skillName(
  parts: Pick<NameParts, "computer" | "own">,
  naming: Naming,
): string {
  if (!parts.own.includes(SEPARATOR)) return toolName(parts, naming);
  return hashedName(parts, startOf(parts.computer, naming), naming.limit);
}

/** What begins all names of a Computer. */
const startOf = (computer: string, { limit, prefix }: Naming): string =>
  prefix ? computerPart(computer, limit) + SEPARATOR : "";

/** A name whose end is a hash of what it names. */
function hashedName(parts: NameParts, start: string, limit: number): string {
  const { computer, server, own } = parts;
  const hash = NAME_HASH +
    hashOf([computer, server ?? null, own], TOOL_HASH_LENGTH);
  return start + shorten(parts, limit - start.length - hash.length) + hash;
}

/** Fits what can be read of a tool before its hash; of its server least a quarter stays. */
function shorten({ server, own }: NameParts, room: number): string {
  const tool = clean(own) || "tool";
  if (server === undefined) return tool.slice(0, room);
  const owner = clean(server);
  const kept = Math.min(owner.length, Math.floor(room / 4));
  const cut = tool.slice(0, Math.max(0, room - kept - SEPARATOR.length));
  const left = Math.max(0, room - cut.length - SEPARATOR.length);
  return (owner.slice(0, left) + SEPARATOR + cut).slice(0, room);
}

/**
 * The Computer's part of a name: its own name where that can stand before `__`, else what is left of
 * it, and a hash, the same for all of its tools.
 *
 * @param limit of the whole name, of which a Computer gets half
 */
export function computerPart(computer: string, limit: number): string {
  const most = Math.floor(limit / 2) - SEPARATOR.length;
  if (isPlainName(computer, most)) return computer;
  const cleaned = computer.replaceAll(/[^A-Za-z0-9-]+/g, "_")
    .replace(/_$/, "");
  const hash = NAME_HASH + hashOf([computer], COMPUTER_HASH_LENGTH);
  return (cleaned || "pc").slice(0, most - hash.length) + hash;
}

const clean = (name: string): string => name.replaceAll(/[^\w-]/g, "_");

/** Lower-case letters and digits only: a hash is read by people too. */
function hashOf(parts: readonly (string | null)[], length: number): string {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest();
  return [...digest.subarray(0, length)]
    .map((byte) => (byte % 32).toString(32)).join("");
}
