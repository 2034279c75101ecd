import type { OfferedTool } from "../tools/catalogue.ts";
import { computerPart } from "../tools/names.ts";
import type { Trouble } from "./office_view.ts";
import { CALL_TOOL, SEARCH_TOOLS } from "../tools/search.ts";

/** What instructions say. */
export interface Situation {
  /** The office's name. */
  readonly office: string | undefined;
  /** The Computers in it, in order. */
  readonly computers: readonly string[];
  /** The tools that clients may call. */
  readonly tools: readonly OfferedTool[];
  /** What is wrong, by Computer. */
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** The one Computer that is shown without a prefix. */
  readonly only: string | undefined;
  /** The most characters of a name. */
  readonly nameLimit: number;
  /** Whether clients see `search_tools` and `call_tool` alone. */
  readonly searching: boolean;
}

/** The most Computers that are named; the text is part of every prompt. */
const MAX_NAMED = 50;

/** Says to a model what this server is: the Computers, how their tools are named, and what is wrong. */
export function instructionsOf(situation: Situation): string {
  const { office, only, searching } = situation;
  const where = office === undefined ? "an office" : `the office "${office}"`;
  return [
    only === undefined
      ? `The tools of the Computers in ${where}. Each runs on the Computer that its name begins with: laptop__echo is the tool echo of the Computer laptop.`
      : `The tools of the Computer ${only} in ${where}; each runs there.`,
    ...(searching
      ? [
        `Find tools with ${SEARCH_TOOLS}, and call them with ${CALL_TOOL}.`,
      ]
      : []),
    ...computersOf(situation),
    ...troublesOf(situation),
  ].join("\n");
}

function computersOf(
  { computers, tools, only, nameLimit }: Situation,
): string[] {
  if (computers.length === 0) return ["No Computer is there at the moment."];
  const counts = new Map<string, number>();
  for (const { computer } of tools) {
    counts.set(computer, (counts.get(computer) ?? 0) + 1);
  }
  const named = computers.slice(0, MAX_NAMED).map((computer) => {
    const count = counts.get(computer) ?? 0;
    const part = computerPart(computer, nameLimit);
    const alias = only !== undefined || part === computer
      ? ""
      : `named ${part}__… here, `;
    return `${computer} (${alias}${count} ${count === 1 ? "tool" : "tools"})`;
  });
  const more = computers.length - named.length;
  return [
    `Computers: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
  ];
}

function troublesOf({ troubles, computers }: Situation): string[] {
  return [...troubles].filter(([computer]) => computers.includes(computer))
    .slice(0, MAX_NAMED)
    .flatMap(([computer, { unfetched, silent }]) => [
      ...(unfetched === undefined
        ? []
        : [`The tools of ${computer} could not be fetched: ${unfetched}`]),
      ...(silent === undefined ? [] : [
        `On ${computer} these MCP servers offer no tool now, perhaps because they do not run: ${
          silent.join(", ")
        }.`,
      ]),
    ]);
}
