/**
 * The MCP server of one request, session or connection over stdio.
 *
 * It is made for each of them, has no state of its own, and answers from what the view shares. Its
 * instructions say to a model which Computers there are, how tools are named, and what is wrong now.
 *
 * @module
 */
import { Server, type ServerEvent } from "@modelcontextprotocol/server";
import type { TurnParts } from "./turn.ts";
import type { QuestionStates } from "./questions.ts";
import {
  answerCompletionRequests,
  answerResourceRequests,
} from "./resources.ts";
import type { OfficeView, Trouble } from "./office_view.ts";
import { answerPromptRequests } from "./prompts.ts";
import { answerToolRequests } from "./tools.ts";
import type { ResolvedOptions } from "../options.ts";
import { isSubscribed } from "../resources/watches.ts";
import type { OfferedTool } from "../tools/catalogue.ts";
import { computerPart } from "../tools/names.ts";
import { messageOf } from "../tools/result.ts";
import { CALL_TOOL, SEARCH_TOOLS } from "../tools/search.ts";
import { PROTOCOL_VERSION } from "../../protocol/mod.ts";

/**
 * Makes the MCP server of one request, one session or one connection over stdio: its state is all in
 * the parts, and making it has no effect.
 */
export async function createOfficeServer(parts: ServerParts): Promise<Server> {
  const server = new Server(
    { name: "a2c-smcp", version: PROTOCOL_VERSION },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
      },
      instructions: await instructions(parts),
      requestState: { verify: parts.states.verify },
    },
  );
  answerToolRequests(server, parts);
  answerResourceRequests(server, parts);
  answerPromptRequests(server, parts);
  answerCompletionRequests(server, parts);
  return server;
}

async function instructions(
  { view, options }: ServerParts,
): Promise<string> {
  try {
    await view.ready();
  } catch (error) {
    return `No tools can be used now: ${messageOf(error)}`;
  }
  const { computers, tools } = view.catalogue;
  return instructionsOf({
    office: view.office,
    computers,
    tools,
    troubles: view.troubles,
    only: options.computer,
    nameLimit: options.nameLimit,
    searching: options.tools === "search",
  });
}

/** What MCP servers of an office share; `cancelled` cancels all that one server does. */
export interface ServerParts extends TurnParts {
  /** The Agent and its tools. */
  readonly view: OfficeView;
  /** Seals what questions to clients remember. */
  readonly states: QuestionStates;
  /** How the office is shown. */
  readonly options: ResolvedOptions;
}

/** Notifies the client of one server of a change; one that has just gone is left out. */
export function tellClient(server: Server, event: ServerEvent): void {
  send(server, event).catch(() => {
    // It has just ended.
  });
}

function send(server: Server, event: ServerEvent): Promise<void> {
  switch (event.kind) {
    case "tools_list_changed":
      return server.sendToolListChanged();
    case "prompts_list_changed":
      return server.sendPromptListChanged();
    case "resources_list_changed":
      return server.sendResourceListChanged();
    case "resource_updated":
      return isSubscribed(server, event.uri)
        ? server.sendResourceUpdated({ uri: event.uri })
        : Promise.resolve();
  }
}

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
