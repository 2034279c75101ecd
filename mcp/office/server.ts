/**
 * The MCP server of one request, session or connection over stdio.
 *
 * It is made for each of them, has no state of its own, and answers from what the view shares. Its
 * instructions list for a model the Computers, how tools are named, and what is wrong now.
 *
 * @module
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import { runningBegun } from "./begun_call.ts";
import { answerCompletionRequests } from "./completion.ts";
import { answerResourceRequests } from "./resources.ts";
import type { OfficeView } from "./office_view.ts";
import { answerPromptRequests } from "./prompts.ts";
import type { ServerParts } from "./server_parts.ts";
import { answerToolRequests } from "./tools.ts";
import type { ResolvedOptions } from "../options.ts";
import { isSubscribed } from "../resources/watches.ts";
import { answeringWithTasks, type Handler } from "../tasks/running_call.ts";
import { answerTaskRequests } from "../tasks/task_requests.ts";
import type { Catalogue } from "../tools/catalogue.ts";
import { computerPart } from "../tools/names.ts";
import { messageOf } from "../tools/result.ts";
import { CALL_TOOL, SEARCH_TOOLS } from "../tools/search.ts";
import { UI_CAPABILITY, UI_EXTENSION } from "../../protocol/mcp/apps.ts";
import { TASKS_CAPABILITY } from "../../protocol/mcp/tasks.ts";
import { PROTOCOL_VERSION } from "../../protocol/mod.ts";
import {
  readOffices,
  writeOffices,
} from "../../protocol/payloads/request_meta.ts";

/**
 * What a server is for: clients of a revision, or requests for tasks alone, which do without an Agent
 * and what is said about it.
 */
export type ServerPurpose = "2025" | "2026" | "task";

/**
 * Makes the MCP server of one request, one session or one connection over stdio: its state is all in
 * the parts, and making it has no effect.
 */
export async function createOfficeServer(
  parts: ServerParts,
  purpose: ServerPurpose,
): Promise<Server> {
  const hasTasks = purpose !== "2025";
  const server = new OfficeServer(
    parts,
    OFFICE_INFO,
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
        extensions: {
          [UI_EXTENSION]: UI_CAPABILITY,
          ...(hasTasks && TASKS_CAPABILITY),
        },
      },
      ...(purpose !== "task" && { instructions: await instructions(parts) }),
      requestState: { verify: parts.states.verify },
    },
  );
  answerToolRequests(server, parts);
  answerResourceRequests(server, parts);
  answerPromptRequests(server, parts);
  answerCompletionRequests(server, parts);
  if (hasTasks) answerTaskRequests(server, parts.tasks);
  return server;
}

/** What an office is to MCP clients. */
export const OFFICE_INFO = { name: "a2c-smcp", version: PROTOCOL_VERSION };

/** The answers that name the office and those behind it. */
const NAMING = ["initialize", "server/discover", "tools/list"];

const LEADS_BACK =
  "This is the office that the client is in: it would offer the office's tools to the office itself";

/** An MCP server that names its office to clients which may lead back to it (protocol §15). */
class OfficeServer extends Server {
  readonly #parts: ServerParts;

  constructor(
    parts: ServerParts,
    ...[info, options]: ConstructorParameters<typeof Server>
  ) {
    super(info, options);
    this.#parts = parts;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const answer = super._wrapHandler(method, handler);
    if (method === "tools/call") {
      return answeringWithTasks(answer, this.#parts, runningBegun);
    }
    if (!NAMING.includes(method)) return answer;
    return (request, context) =>
      namingOffices(
        this.#parts.view,
        context.mcpReq._meta,
        () => answer(request, context),
      );
  }
}

/**
 * Makes an answer that names the office and those behind it.
 *
 * @param meta of the request
 * @throws {ProtocolError} the client is this office
 */
export async function namingOffices<T extends Result>(
  view: Pick<OfficeView, "offices">,
  meta: Parameters<typeof readOffices>[0],
  answer: () => Promise<T>,
): Promise<T> {
  const [own] = view.offices;
  if (own !== undefined && readOffices(meta).includes(own)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidRequest,
      LEADS_BACK,
      writeOffices([own])._meta,
    );
  }
  const result = await answer();
  const { _meta } = writeOffices(view.offices);
  return _meta ? { ...result, _meta: { ...result._meta, ..._meta } } : result;
}

async function instructions({ view, options }: ServerParts): Promise<string> {
  try {
    await view.ready();
  } catch (error) {
    return `No tools can be used now: ${messageOf(error)}`;
  }
  const theirs = await view.serverInstructions();
  return [instructionsOf(view, options), theirs].filter(Boolean).join("\n\n");
}

/** Notifies the client of one server of a change; one that has just gone is left out. */
export function notifyClient(server: Server, event: ServerEvent): void {
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

/** The most Computers that are named; the text is part of every prompt. */
const MAX_NAMED = 50;
/** The most sentences of a Computer's own, and the characters of each. */
const MAX_SENTENCES = 5;
const MAX_SENTENCE = 500;

/** Describes the server to a model: the Computers, how their tools are named, and what is wrong. */
export function instructionsOf(
  { office, catalogue, troubles }:
    & Pick<OfficeView, "office" | "troubles">
    & { readonly catalogue: Pick<Catalogue, "computers" | "countOf"> },
  { computer: only, nameLimit, tools: shown, computers: chosen }:
    ResolvedOptions,
): string {
  const { computers } = catalogue;
  const where = office === undefined ? "an office" : `the office "${office}"`;
  const named = computers.slice(0, MAX_NAMED).map((computer) => {
    const { tools: count } = catalogue.countOf(computer);
    const part = computerPart(computer, nameLimit);
    const alias = only !== undefined || part === computer
      ? ""
      : `named ${part}__… here, `;
    return `${computer} (${alias}${count} ${count === 1 ? "tool" : "tools"})`;
  });
  const more = computers.length - named.length;
  const there = new Set(computers);
  const heavy = computers.filter((each) => catalogue.countOf(each).leftOut > 0)
    .slice(0, MAX_NAMED)
    .map((computer) =>
      `Tools of ${computer} that are too large to be shown: ${
        catalogue.countOf(computer).leftOut
      }.`
    );
  const wrong = [...troubles].filter(([each]) => there.has(each))
    .slice(0, MAX_NAMED)
    .flatMap(([computer, { unfetched, silent, missing = [] }]) => [
      unfetched === undefined
        ? ""
        : `The tools of ${computer} could not be fetched: ${unfetched}`,
      silent === undefined
        ? ""
        : `On ${computer} these MCP servers offer no tool now, perhaps because they do not run: ${
          shortList(silent)
        }.`,
      ...missing.slice(0, MAX_SENTENCES).map((text) =>
        `On ${computer}: ${text.slice(0, MAX_SENTENCE).replaceAll(/\s+/g, " ")}`
      ),
    ]);
  return [
    only === undefined
      ? `The tools of the Computers in ${where}. Each runs on the Computer that its name begins with: laptop__echo is the tool echo of the Computer laptop.`
      : `The tools of the Computer ${only} in ${where}; each runs there.`,
    chosen === undefined
      ? ""
      : "A person has chosen at the sign-in which Computers are shown here; for others, sign in again.",
    shown === "search"
      ? `Find tools with ${SEARCH_TOOLS}, and call them with ${CALL_TOOL}.`
      : "",
    named.length === 0
      ? "No Computer is there at the moment."
      : `Computers: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
    ...heavy,
    ...wrong,
  ].filter(Boolean).join("\n");
}

const shortList = (names: readonly string[]): string => {
  const more = names.length - MAX_NAMED;
  const named = names.slice(0, MAX_NAMED).join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
};
