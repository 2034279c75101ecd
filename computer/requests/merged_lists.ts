/**
 * The lists that a Computer merges of all its MCP servers, such as that of its tools, within what the Server
 * takes (protocol §8.2, §10).
 *
 * What is too large loses whole items, by one rule: of the room each MCP server gets an equal part, the smaller
 * ones first, whose rest the larger ones get; of each its first items that fit are kept. So a small MCP server
 * keeps all of its items beside a large one. What is left out is named.
 *
 * Documents are sent in pages: those that fit no message alone are left out before paging, and a page ends before
 * the first that does not fit, so that the next one begins with it.
 *
 * @module
 */
import {
  FRAMING_BYTES,
  isDeeper,
  jsonBytes,
  MAX_DEPTH,
  whyUnsendable,
} from "../../client/message_limits.ts";
import {
  CLIENT_EVENTS,
  type ClientEvent,
  ErrorCode,
  GET_DESKTOP_EVENT,
  GET_FINDER_EVENT,
  GET_INSTRUCTIONS_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCE_TEMPLATES_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
} from "../../protocol/mod.ts";
import type { Bound } from "../../protocol/event_table.ts";
import { isRecord } from "../../protocol/names.ts";
import { MCP_SERVER_KEY } from "../../protocol/payloads/tools.ts";
import {
  MAX_TRANSLATED_ITEMS,
  NAMING_LISTS,
} from "../../protocol/translation.ts";
import { weigh } from "../../shared/json/values.ts";
import { WarnOnce } from "../util/log.ts";
import { hideSecrets } from "../util/secrets.ts";

/** The size of an item of a list. */
export interface ItemSize {
  /** Whose it is. */
  readonly owner: string;
  /** As JSON, with the comma after it; `Infinity` for what cannot be sent at all. */
  readonly bytes: number;
  /** As the Server counts them (protocol §10). */
  readonly values: number;
}

/** The most that the items of a list may take together. */
export type ListRoom = Bound & { readonly items: number };

/**
 * Chooses the items of a list that are kept, by the rule of this module.
 *
 * @returns for each item whether it is
 */
export function fitItems(
  items: readonly ItemSize[],
  room: ListRoom,
): boolean[] {
  /** The part of the room that an item takes, of that which is scarcest for it. */
  const partOf = ({ bytes, values }: ItemSize) =>
    bytes === Infinity
      ? Infinity
      : Math.max(bytes / room.bytes, values / room.values, 1 / room.items);
  const owners = [
    ...Map.groupBy(items.keys(), (at) => items[at]!.owner).values(),
  ].map((own) => ({
    own,
    whole: own.reduce((sum, at) => sum + partOf(items[at]!), 0),
  })).toSorted((a, b) => a.whole - b.whole);
  const kept = items.map(() => false);
  let left = 1;
  owners.forEach(({ own }, at) => {
    const fair = left / (owners.length - at);
    let used = 0;
    for (const item of own) {
      const part = partOf(items[item]!);
      if (used + part > fair + ROUNDING) continue;
      used += part;
      kept[item] = true;
    }
    left -= used;
  });
  return kept;
}

/** Counts the items at the beginning of a list that fit together. */
export function countFitting(
  items: readonly ItemSize[],
  room: ListRoom,
): number {
  let bytes = 0;
  let values = 0;
  const end = items.findIndex((item, at) => {
    bytes += item.bytes;
    values += item.values;
    return bytes > room.bytes || values > room.values || at >= room.items;
  });
  return end === -1 ? items.length : end;
}

/** Less than one byte, value or item of any room. */
const ROUNDING = 1e-9;

/** A member of an answer that is a merged list. */
interface MergedList {
  readonly field: string;
  /** The noun for its items. */
  readonly noun: string;
  /** The noun for their owners. */
  readonly owners: string;
  /** Whether its items come in pages, whose order is that of the whole. */
  readonly isPaged?: boolean;
  /** Names the owner of an item. */
  readonly ownerOf: (item: Record<string, unknown>) => unknown;
  /** Names an item. */
  readonly nameOf: (item: unknown) => unknown;
}

const nameOf = (item: unknown): unknown => Object(item).name;
const MCP_SERVER = "MCP server";

const LISTS: ReadonlyMap<ClientEvent, MergedList> = new Map([
  [GET_TOOLS_EVENT, {
    field: "tools",
    noun: "tools",
    owners: MCP_SERVER,
    ownerOf: ({ meta, bundle_id }) => Object(meta)[MCP_SERVER_KEY] ?? bundle_id,
    nameOf,
  }],
  [GET_DESKTOP_EVENT, {
    field: "desktops",
    noun: "windows",
    owners: "",
    ownerOf: () => "", // the most relevant come first
    nameOf: (item) => String(item).split("\n", 1)[0],
  }],
  [GET_FINDER_EVENT, {
    field: "documents",
    noun: "documents",
    owners: MCP_SERVER,
    isPaged: true,
    ownerOf: ({ server }) => server,
    nameOf: (item) => Object(item).uri,
  }],
  [GET_SKILLS_EVENT, {
    field: "skills",
    noun: "skills",
    owners: "source",
    ownerOf: ({ source }) => source,
    nameOf,
  }],
  [GET_PROMPTS_EVENT, {
    field: "prompts",
    noun: "prompts",
    owners: MCP_SERVER,
    ownerOf: ({ mcp_server }) => mcp_server,
    nameOf,
  }],
  [GET_RESOURCE_TEMPLATES_EVENT, {
    field: "resource_templates",
    noun: "resource templates",
    owners: MCP_SERVER,
    ownerOf: ({ mcp_server }) => mcp_server,
    nameOf: (item) => Object(item).uriTemplate,
  }],
  [GET_INSTRUCTIONS_EVENT, {
    field: "instructions",
    noun: "instructions",
    owners: MCP_SERVER,
    ownerOf: ({ mcp_server }) => mcp_server,
    nameOf: (item) => Object(item).mcp_server,
  }],
]);

/** The events whose answers are merged lists. */
export const LIST_EVENTS: readonly ClientEvent[] = [...LISTS.keys()];

/** Why an answer cannot be sent, with the fields of its error (protocol §10). */
interface Excess {
  readonly why: string;
  readonly fields: { limit?: string; count?: number; max?: number };
}

/** Room in the answer for the problems about items that are left out. */
const PROBLEMS_BYTES = 16 * 2 ** 10;
const PROBLEM_VALUES = 20;
/** How many items of an owner are named, and how many owners. */
const MAX_NAMED = 10;
const MAX_NAME = 100;

/** Keeps the answers of a Computer within what its Server takes, and what is left out of them. */
export class MergedLists {
  readonly #leftOut = new Map<ClientEvent, readonly string[]>();
  readonly #warnOnce = new WarnOnce();
  readonly #changed: () => void;

  /** @param changed called when something else is left out than before */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** A sentence for each owner about items that the last answers left out. */
  get problems(): string[] {
    return [...this.#leftOut.values()].flat();
  }

  /**
   * Returns an answer that can be sent: a merged list without the items that do not fit, any other as it is.
   *
   * @param maxPayload the Server's limit for messages in bytes; absent for an answer that is no message
   * @throws {ProtocolError} 500 with the limit, for an answer that may not be shortened
   */
  fit<T extends object>(
    event: ClientEvent,
    answer: T,
    maxPayload: number | undefined,
  ): T {
    const list = LISTS.get(event);
    if (list?.isPaged) return this.#fitPage(event, answer, list, maxPayload);
    const excess = excessOf(event, answer, maxPayload);
    if (excess === undefined) {
      if (maxPayload !== undefined) this.#note(event, []);
      return answer;
    }
    if (!list) throw tooLarge(excess);
    const items = itemsOf(event, answer);
    const rest = { ...answer, [list.field]: [] };
    const room = roomIn(event, rest, maxPayload, mostItems(event, items));
    const kept = fitItems(items.map((item) => sizeOf(item, list)), room);
    const left = items.filter((_, at) => !kept[at]);
    const problems = leftOutOf(
      list,
      left,
      `the list is too large: ${excess.why}; offer less`,
    );
    if (maxPayload !== undefined) this.#note(event, problems);
    const shortened = {
      ...rest,
      [list.field]: items.filter((_, at) => kept[at]),
    };
    return withProblems(event, shortened, problems, maxPayload);
  }

  /** Returns the answer with all items of a paged list without those that alone fit no message, which are named. */
  sendable<T extends object>(
    event: ClientEvent,
    answer: T,
    maxPayload: number | undefined,
  ): T {
    const list = LISTS.get(event);
    if (!list || maxPayload === undefined) return answer;
    const items = itemsOf(event, answer);
    const rest = { ...answer, [list.field]: [] };
    const room = roomIn(event, rest, maxPayload, Infinity);
    const isKept = (item: unknown) =>
      countFitting([sizeOf(item, list)], room) > 0;
    const { kept = [], left = [] } = Object.groupBy(
      items,
      (item) => isKept(item) ? "kept" : "left",
    );
    const { values } = CLIENT_EVENTS[event].bounds.answer;
    const most = `at most ${maxPayload} bytes and ${values} values`;
    const why = `each of them is too large for a message (${most}); shorten it`;
    this.#note(event, leftOutOf(list, left, why));
    return { ...answer, [list.field]: kept };
  }

  /** Ends a page before the first item that does not fit: it begins the next page. */
  #fitPage<T extends object>(
    event: ClientEvent,
    answer: T,
    list: MergedList,
    maxPayload: number | undefined,
  ): T {
    if (maxPayload === undefined) return answer;
    const problems = this.#leftOut.get(event) ?? [];
    if (excessOf(event, answer, maxPayload) === undefined) {
      return withProblems(event, answer, problems, maxPayload);
    }
    const items = itemsOf(event, answer);
    const rest = { ...answer, [list.field]: [] };
    const room = roomIn(event, rest, maxPayload, Infinity);
    const count = countFitting(items.map((item) => sizeOf(item, list)), room);
    const page = { ...answer, [list.field]: items.slice(0, count) };
    return withProblems(event, page, problems, maxPayload);
  }

  #note(event: ClientEvent, problems: readonly string[]): void {
    const before = this.#leftOut.get(event) ?? [];
    const isSame = before.length === problems.length &&
      before.every((problem, at) => problem === problems[at]);
    if (isSame) return;
    this.#leftOut.set(event, problems);
    this.#warnOnce.warn(problems);
    this.#changed();
  }
}

/** Adds the problems about items that are left out; if there is little room, items go first. */
function withProblems<T extends object>(
  event: ClientEvent,
  answer: T,
  problems: readonly string[],
  maxPayload: number | undefined,
): T {
  if (problems.length === 0) return answer;
  const complete = { ...answer, problems };
  return excessOf(event, complete, maxPayload) ? answer : complete;
}

function excessOf(
  event: ClientEvent,
  answer: object,
  maxPayload: number | undefined,
): Excess | undefined {
  const { bytes, values } = CLIENT_EVENTS[event].bounds.answer;
  const most = maxPayload && Math.min(maxPayload, bytes + FRAMING_BYTES);
  const why = whyUnsendable(answer, most);
  if (why !== undefined) {
    const isDeep = most === undefined || isDeeper(answer, MAX_DEPTH);
    return {
      why,
      fields: isDeep
        ? {}
        : { limit: "bytes", count: jsonBytes(answer), max: most },
    };
  }
  if (maxPayload === undefined) return undefined;
  const weight = weigh(answer);
  if (weight.values > values) return over("values", weight.values, values);
  const items = itemsOf(event, answer);
  const max = mostItems(event, items);
  return items.length > max ? over("items", items.length, max) : undefined;
}

function itemsOf(event: ClientEvent, answer: object): readonly unknown[] {
  const list = LISTS.get(event);
  const items: unknown = list && Reflect.get(answer, list.field);
  return Array.isArray(items) ? items : [];
}

const over = (limit: string, count: number, max: number): Excess => ({
  why: `it has ${count} ${limit}, and the server accepts at most ${max}`,
  fields: { limit, count, max },
});

/** What may be translated for Agents of other versions is counted, as prompts are, and tools without a `bundle_id`. */
const mostItems = (event: ClientEvent, items: readonly unknown[]): number =>
  NAMING_LISTS.has(event) ||
    event === GET_TOOLS_EVENT &&
      items.some((tool) => Object(tool).bundle_id === undefined)
    ? MAX_TRANSLATED_ITEMS
    : Infinity;

/** Returns the room for the items of an answer, from which they are taken out. */
function roomIn(
  event: ClientEvent,
  rest: object,
  maxPayload: number | undefined,
  most: number,
): ListRoom {
  if (maxPayload === undefined) {
    return { bytes: Infinity, values: Infinity, items: Infinity };
  }
  const bound = CLIENT_EVENTS[event].bounds.answer;
  const bytes = Math.min(bound.bytes, maxPayload - FRAMING_BYTES);
  const forProblems = Math.min(PROBLEMS_BYTES, bytes / 8);
  return {
    bytes: Math.max(0, bytes - jsonBytes(rest) - forProblems),
    values: bound.values - weigh(rest).values - PROBLEM_VALUES,
    items: most,
  };
}

const ownerOf = (item: unknown, list: MergedList): string =>
  isRecord(item) ? String(list.ownerOf(item) ?? "") : "";

function sizeOf(item: unknown, list: MergedList): ItemSize {
  const owner = ownerOf(item, list);
  // Two levels are the answer and its list.
  const isSendable = !isDeeper(item, MAX_DEPTH - 2);
  return {
    owner,
    bytes: isSendable
      ? jsonBytes([item]) - 1 + translationBytes(item, list, owner)
      : Infinity,
    values: weigh(item).values + 1,
  };
}

/** Room for the `bundle_id` that a tool gets in an answer that is translated. */
const translationBytes = (
  item: unknown,
  { field }: MergedList,
  owner: string,
): number =>
  field === "tools" && Object(item).bundle_id === undefined
    ? `,"bundle_id":""`.length + Math.max(owner.length, 32)
    : 0;

/**
 * Describes what is left out, in one sentence for each owner; secrets are hidden.
 *
 * @param why such as `it is too large; offer less`
 */
function leftOutOf(
  list: MergedList,
  items: readonly unknown[],
  why: string,
): string[] {
  const owners = [...Map.groupBy(items, (item) => ownerOf(item, list))];
  const sentences = owners.slice(0, MAX_NAMED).map(([owner, own]) => {
    const named = own.slice(0, MAX_NAMED)
      .map((item) => String(list.nameOf(item)).slice(0, MAX_NAME));
    const more = own.length - named.length;
    const whose = owner === "" ? "" : ` of ${list.owners} "${owner}"`;
    return `${own.length} ${list.noun}${whose} are left out, as ${why}, or raise what the Server accepts. Left out: ${
      named.join(", ")
    }${more > 0 ? ` and ${more} more` : ""}`;
  });
  const others = owners.slice(MAX_NAMED)
    .reduce((sum, [, own]) => sum + own.length, 0);
  const rest = `${others} more ${list.noun} are left out of the list`;
  return (others === 0 ? sentences : [...sentences, rest]).map(hideSecrets);
}

const tooLarge = ({ why, fields }: Excess): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    `The answer cannot be sent: ${why}`,
    { fields },
  );
