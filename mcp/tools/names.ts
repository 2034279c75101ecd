import { createHash } from "node:crypto";
import { isPlainName } from "../../shared/checks.ts";

/** Between the two parts of a name. */
const SEPARATOR = "__";
const COMPUTER_HASH_LENGTH = 4;
const TOOL_HASH_LENGTH = 6;

/** How the tools of an office are named. */
export interface Naming {
  /** The most characters of a name. */
  readonly limit: number;
  /** Whether names begin with their Computer; not where there is one Computer only. */
  readonly prefix: boolean;
}

/** A tool to be named. */
interface NameParts {
  /** The Computer that has it. */
  readonly computer: string;
  /** Its name there. */
  readonly tool: string;
  /** The `bundle_id` of its MCP server; where the name is too long, what says least of the tool. */
  readonly bundleId?: string | null | undefined;
}

/**
 * Names a tool for MCP clients and models: `laptop__echo`, of `A-Z a-z 0-9 _ -` alone.
 *
 * It depends on its parts and on nothing else, as prompts, allow-lists and caches hold it. What was cut
 * or replaced is made up for by a hash of the originals; the way back is a table.
 *
 * @param attempt above 0 gives another name, should one already stand for another tool
 */
export function toolName(
  { computer, tool, bundleId }: NameParts,
  { limit, prefix }: Naming,
  attempt = 0,
): string {
  const start = prefix ? computerPart(computer, limit) + SEPARATOR : "";
  const cleaned = clean(tool);
  const isWhole = cleaned === tool && attempt === 0 && tool !== "" &&
    start.length + tool.length <= limit;
  if (isWhole) return start + tool;
  const hash = hashOf([computer, tool, attempt], TOOL_HASH_LENGTH);
  const room = limit - start.length - hash.length - 1;
  const owner = `${bundleId ?? ""}${SEPARATOR}`;
  const own = bundleId && cleaned.length > room && cleaned.startsWith(owner)
    ? cleaned.slice(owner.length)
    : cleaned;
  return `${start}${own.slice(0, room) || "tool"}_${hash}`;
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
  const hash = hashOf([computer], COMPUTER_HASH_LENGTH);
  const room = most - hash.length - 1;
  return `${cleaned.slice(0, room) || "pc"}-${hash}`;
}

const clean = (name: string): string => name.replaceAll(/[^\w-]/g, "_");

/** Lower-case letters and digits only: a hash is read by people too. */
function hashOf(parts: readonly (string | number)[], length: number): string {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest();
  return [...digest.subarray(0, length)]
    .map((byte) => (byte % 32).toString(32)).join("");
}
