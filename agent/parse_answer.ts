import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  GET_CONFIG_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
} from "../protocol/mod.ts";
import { Pace } from "../shared/pace.ts";

/** The member of an answer that may be long; each of its items is valid or not by itself. */
export const LONG_MEMBERS: Partial<Record<ClientEvent, string>> = {
  [GET_CONFIG_EVENT]: "servers",
  [GET_FINDER_EVENT]: "documents",
  [GET_PROMPTS_EVENT]: "prompts",
  [GET_RESOURCES_EVENT]: "resources",
  [GET_SKILLS_EVENT]: "skills",
  [GET_TOOLS_EVENT]: "tools",
};

/** Items that are parsed at a time. */
const PART = 100;

/**
 * Parses an answer, with pauses where it is long: an Agent may share its process with others, as in a
 * Server that serves MCP.
 *
 * @throws {ProtocolError} 400 that names each invalid field
 */
export async function parseInParts<E extends ClientEvent>(
  event: E,
  answer: unknown,
): Promise<ClientEvents[E]["answer"]> {
  const { parseAnswer } = CLIENT_EVENTS[event];
  const name = LONG_MEMBERS[event];
  const whole: Record<string, unknown> = Object(answer);
  const member: unknown = name && whole[name];
  const isList = Array.isArray(member);
  const keys = typeof member === "object" && member !== null
    ? Object.keys(member)
    : [];
  if (name === undefined || keys.length <= PART) return parseAnswer(answer);
  const parsed: [string, unknown][] = [];
  const pace = new Pace();
  const rest = Object(parseAnswer({ ...whole, [name]: isList ? [] : {} }));
  // What is not a plain value is parsed once, with the rest.
  const plain = Object.fromEntries(
    Object.entries(whole).filter(([, value]) => typeof value !== "object"),
  );
  for (let first = 0; first < keys.length; first += PART) {
    if (pace.isDue) await pace.turn();
    const end = first + PART;
    const own = isList ? member.slice(first, end) : Object.fromEntries(
      keys.slice(first, end).map((key) => [key, Object(member)[key]]),
    );
    try {
      const some: Record<string, unknown> = Object(
        parseAnswer({ ...plain, [name]: own }),
      );
      for (const entry of Object.entries(Object(some[name]))) {
        parsed.push(entry);
      }
    } catch (error) {
      throw isList && error instanceof ProtocolError
        ? inWhole(error, name, first)
        : error;
    }
  }
  const all = isList
    ? parsed.map(([, item]) => item)
    : Object.fromEntries(parsed);
  return { ...rest, [name]: all };
}

/**
 * Parses a long answer as {@linkcode parseInParts} does; invalid tools cost only themselves, and are named in
 * `problems`.
 *
 * @throws {ProtocolError} 400 that names each other invalid field
 */
export async function parseLong<E extends ClientEvent>(
  event: E,
  answer: unknown,
): Promise<ClientEvents[E]["answer"]> {
  try {
    return await parseInParts(event, answer);
  } catch (error) {
    if (event !== GET_TOOLS_EVENT) throw error;
    return await parseInParts(event, await withoutInvalidTools(answer));
  }
}

/** The most tools that are named. */
const MAX_NAMED = 10;

async function withoutInvalidTools(answer: unknown): Promise<unknown> {
  const { tools, problems }: { tools?: unknown; problems?: unknown } = Object(
    answer,
  );
  if (!Array.isArray(tools)) return answer;
  const { parseAnswer } = CLIENT_EVENTS[GET_TOOLS_EVENT];
  const valid: unknown[] = [];
  const names: string[] = [];
  const pace = new Pace();
  for (const tool of tools) {
    if (pace.isDue) await pace.turn();
    try {
      parseAnswer({ tools: [tool], req_id: "" });
      valid.push(tool);
    } catch {
      names.push(JSON.stringify(Object(tool).name ?? null).slice(0, 100));
    }
  }
  const more = names.length - MAX_NAMED;
  const problem =
    `${names.length} tools are left out, since they are invalid: ${
      names.slice(0, MAX_NAMED).join(", ")
    }${more > 0 ? ` and ${more} more` : ""}`;
  const others = Array.isArray(problems) ? problems : [];
  return { ...Object(answer), tools: valid, problems: [...others, problem] };
}

/** Counts the items that an error names from the first of the list, in place of that of a part. */
function inWhole(
  { code, message, details }: ProtocolError,
  name: string,
  first: number,
): ProtocolError {
  const moved = JSON.stringify({ message, details }).replaceAll(
    new RegExp(`\\b${name}\\.(\\d+)`, "g"),
    (_, at) => `${name}.${first + Number(at)}`,
  );
  const parts = JSON.parse(moved);
  return new ProtocolError(code, parts.message, { details: parts.details });
}
