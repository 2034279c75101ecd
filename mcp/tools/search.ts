import type { Tool } from "@modelcontextprotocol/server";
import type { OfferedTool } from "./catalogue.ts";
import { tagsOf } from "./tool.ts";
import { Pace } from "../../shared/pace.ts";

/** Finds tools of the office. */
export const SEARCH_TOOLS = "search_tools";
/** Calls a tool that was found. */
export const CALL_TOOL = "call_tool";

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
/** The most letters of a query. */
const MAX_QUERY = 1_000;
/** The words of a query, and the letters of each text of a tool, that are looked at. */
const MAX_WORDS = 20;
const MAX_TEXT = 10_000;

const text = (description: string) => ({ type: "string", description });

/** The two tools that stand for all others. */
export const SEARCH_MODE_TOOLS: readonly Tool[] = [
  {
    name: SEARCH_TOOLS,
    title: "Search tools",
    description:
      "Find tools of the Computers in this office by words of their names and descriptions. Answers with the name, description and input schema of each; call one with call_tool.",
    inputSchema: {
      type: "object",
      properties: {
        query: text("Words to look for; empty lists all tools"),
        computer: text("Only tools of this Computer"),
        limit: {
          type: "integer",
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
          description: "The most tools to answer with",
        },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL_TOOL,
    title: "Call a tool",
    description:
      "Call a tool that search_tools has found, with arguments by its input schema.",
    inputSchema: {
      type: "object",
      properties: {
        name: text("The tool's name, as search_tools gives it"),
        arguments: { type: "object", description: "The tool's arguments" },
      },
      required: ["name"],
    },
  },
];

/** What to look for: words, of which any counts; the Computer, if only one is meant; the most to find. */
interface SearchQuery {
  readonly query: string;
  readonly limit: number;
  readonly computer?: string;
}

/**
 * Reads the arguments of `search_tools`.
 *
 * @returns a sentence about the problem, where they are invalid
 */
export function readQuery(
  args: Readonly<Record<string, unknown>>,
): SearchQuery | string {
  const { query = "", computer, limit = DEFAULT_LIMIT } = args;
  if (typeof query !== "string") {
    return "query: expected words to look for, as a string";
  }
  if (query.length > MAX_QUERY) {
    return `query: expected at most ${MAX_QUERY} characters, got ${query.length}; look for fewer words`;
  }
  if (computer !== undefined && typeof computer !== "string") {
    return "computer: expected the name of a Computer, as a string";
  }
  const most = Number.isInteger(limit) ? Number(limit) : 0;
  if (most < 1 || most > MAX_LIMIT) {
    return `limit: expected a whole number from 1 to ${MAX_LIMIT}`;
  }
  return { query, limit: most, ...(computer !== undefined && { computer }) };
}

/**
 * Finds tools, and pauses where they are many: those whose names have the words come before those whose descriptions do.
 *
 * @returns how many match, and the best of them
 */
export async function searchTools(
  tools: readonly OfferedTool[],
  { query, computer, limit }: SearchQuery,
) {
  const words = [...new Set(splitWords(query))].slice(0, MAX_WORDS);
  const pace = new Pace();
  const found: { tool: OfferedTool; score: number }[] = [];
  for (const tool of tools) {
    if (pace.isDue) await pace.turn();
    if (computer !== undefined && tool.computer !== computer) continue;
    const own = words.length === 0 ? 0 : score(tool, words);
    if (words.length === 0 || own > 0) found.push({ tool, score: own });
  }
  const best = found.toSorted((a, b) => b.score - a.score).slice(0, limit);
  return {
    total: found.length,
    tools: best.map(({ tool: { shown } }) => {
      const { name, description, inputSchema } = shown;
      return { name, description, inputSchema };
    }),
  };
}

/** Words of people and of programs: `readTextFile` is three. */
const splitWords = (text: string): string[] =>
  text.slice(0, MAX_TEXT).replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase()
    .split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");

function score(tool: OfferedTool, words: readonly string[]): number {
  const { shown, original } = tool;
  const name = new Set(splitWords(`${shown.name} ${shown.title ?? ""}`));
  const tags = new Set(tagsOf(original).flatMap(splitWords));
  const text = splitWords(`${shown.description ?? ""}`);
  let sum = 0;
  for (const word of words) {
    if (name.has(word)) sum += 8;
    else if ([...name].some((each) => each.startsWith(word))) sum += 4;
    if (tags.has(word)) sum += 4;
    if (text.includes(word)) sum += 2;
    else if (text.some((each) => each.startsWith(word))) sum += 1;
  }
  return sum;
}
