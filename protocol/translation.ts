/**
 * How an MCP server is named in payloads between members of different versions: by its key in `servers`,
 * until 0.2 its name, from 0.3 on its `bundle_id` (protocol §14). Answers are edited as the bytes
 * that came: what this module does not name keeps its bytes, and nothing is built of it.
 *
 * | payload                              | for readers of 0.1 and 0.2            | from 0.3 on            |
 * | ------------------------------------ | ------------------------------------- | ---------------------- |
 * | `mcp_server` of requests, notices    | what the Computer calls it            | likewise               |
 * | `tools[]` of `get_tools`             | –                                     | `bundle_id` is added   |
 * | `servers` of `get_config`            | key and `name`                        | key and `bundle_id`    |
 * | `inputs[].options` of a pickString   | texts                                 | `{label, value}`       |
 * | `mcp_server` of items of lists       | the given name                        | likewise               |
 * | an error's `mcp_server`              | the given name, in 4015 as            | likewise               |
 * |                                      | `mcp_server_name` too                 |                        |
 * | an error's `code`, no such server    | 404                                   | 4014                   |
 * | `meta.mcp_server` of a failed call   | the given name                        | likewise               |
 *
 * @module
 */
import {
  eachItem,
  eachMember,
  isArrayAt,
  isNamed,
  isObjectAt,
  JsonEdit,
  type JsonMember,
  type JsonSpan,
  JsonTooLargeError,
  keyOf,
  nameIn,
  skipJsonValue,
  textIn,
  valueIn,
} from "./json_bytes.ts";
import { ErrorCode, toErrorPayload } from "./errors.ts";
import * as events from "./events.ts";
import { MCP_SERVER_KEY } from "./payloads/tools.ts";
import type { Profile } from "./profiles.ts";
import {
  LimitError,
  MAX_SERVERS,
  NAMELESS,
  NamesFullError,
  type ServerNames,
} from "./server_names.ts";
import { isBundleId } from "./validation.ts";

// ------------------------------------------------------------------ what is translated

/** The events whose requests name an MCP server. */
const NAMING: ReadonlySet<events.ClientEvent | events.Notification> = new Set<
  events.ClientEvent | events.Notification
>([
  events.GET_RESOURCES_EVENT,
  events.READ_RESOURCE_EVENT,
  events.WATCH_RESOURCE_EVENT,
  events.GET_PROMPTS_EVENT,
  events.GET_PROMPT_EVENT,
  events.COMPLETE_EVENT,
  events.UPDATE_RESOURCES_NOTIFICATION,
]);

/** The lists of answers whose items name MCP servers. */
export const NAMING_LISTS: ReadonlyMap<events.ClientEvent, string> = new Map([
  [events.GET_PROMPTS_EVENT, "prompts"],
  [events.GET_RESOURCE_TEMPLATES_EVENT, "resource_templates"],
  [events.GET_INSTRUCTIONS_EVENT, "instructions"],
]);

/**
 * Returns what the receiver calls the MCP server of a request or a notice; `undefined` where it stays.
 *
 * @param payload its members
 * @param names of its Computer
 */
export function serverFor(
  event: events.ClientEvent | events.Notification,
  payload: object,
  names: ServerNames,
): string | undefined {
  const { mcp_server }: { mcp_server?: unknown } = payload;
  if (typeof mcp_server !== "string" || !NAMING.has(event)) return undefined;
  return event === events.UPDATE_RESOURCES_NOTIFICATION
    ? names.givenTo(mcp_server)
    : names.ownOf(mcp_server);
}

/** The answer of a Computer, and for whom it is. */
export interface AnswerText extends JsonSpan {
  readonly bytes: Uint8Array;
  readonly event: events.ClientEvent;
  /** Its members where it is an error or a failed result, else `undefined`. */
  readonly failure: object | undefined;
  /** The version of the member that gets it. */
  readonly reader: Profile;
  /** The most bytes that it may have then. */
  readonly most: number;
}

/**
 * Translates the answer of a Computer to a member that names MCP servers differently, and adds the names
 * in it to the table. What is no answer to the event passes unchanged.
 *
 * @returns the new text; `undefined` where it stays as it came
 * @throws {JsonTooLargeError} when it would have more bytes than it may
 * @throws {LimitError} when it has too many items, or names too many MCP servers
 */
export function translateAnswer(
  answer: AnswerText,
  names: ServerNames,
): Uint8Array | undefined {
  const change = changeOf(answer);
  if (change === undefined) return undefined;
  const isFresh = names.bytes === 0;
  try {
    return change(new Translation(answer, names));
  } catch (error) {
    if (!(error instanceof NamesFullError) || isFresh) throw error;
    // Names of earlier answers may have filled the table.
    names.forget();
    return change(new Translation(answer, names));
  }
}

/** Returns what to do with an answer, if anything. */
function changeOf(
  { event, failure, reader }: AnswerText,
): ((translation: Translation) => Uint8Array) | undefined {
  if (toErrorPayload(failure)) return (t) => t.error();
  switch (event) {
    case events.TOOL_CALL_EVENT:
      return Object(failure).isError === true
        ? (t) => t.failedResult()
        : undefined;
    case events.GET_TOOLS_EVENT:
      return reader.bundleIds ? (t) => t.tools() : undefined;
    case events.GET_CONFIG_EVENT:
      return (t) => t.config();
    default: {
      const list = NAMING_LISTS.get(event);
      return list ? (t) => t.naming(list) : undefined;
    }
  }
}

/** Returns why an answer cannot be translated; `undefined` for an error of another kind. */
export function whyUntranslated(error: unknown): string | undefined {
  if (error instanceof LimitError) return error.message;
  return error instanceof JsonTooLargeError
    ? "would be larger than a message in the Agent's version"
    : undefined;
}

/** The most tools, servers, prompts and options of an answer that is translated, together. */
export const MAX_TRANSLATED_ITEMS = 10_000;

/** The longest error code, with room for a number written in an unusual form. */
const MAX_CODE_BYTES = 64;

/** One answer for a reader of another version. */
class Translation {
  readonly #answer: AnswerText;
  readonly #names: ServerNames;
  readonly #edit: JsonEdit;
  /** The items of lists that were edited so far. */
  #count = 0;
  #countedServers = 0;

  constructor(answer: AnswerText, names: ServerNames) {
    this.#answer = answer;
    this.#names = names;
    this.#edit = new JsonEdit(answer.bytes, answer, answer.most);
  }

  // ---------------------------------------------------------------- failures

  /** An error, flat or nested as in 0.1. */
  error(): Uint8Array {
    const code = this.#errorCode();
    const { start } = this.#answer;
    this.#edit.object(start, (member) => {
      if (!this.#isNamed(member, "error") || !this.#isObject(member)) {
        return this.#inError(member, code);
      }
      return () =>
        void this.#edit.object(
          member.start,
          (inner) => this.#inError(inner, code),
          () => this.#serverName(member.start),
        );
    }, () => this.#serverName(start));
    return this.#finish();
  }

  #inError(member: JsonMember, code: number | undefined): string | undefined {
    if (code !== undefined && this.#isNamed(member, "code")) {
      const { bytes } = this.#answer;
      const is = valueIn(bytes, member, MAX_CODE_BYTES);
      return is === code ? undefined : String(code);
    }
    return this.#renamed(member);
  }

  /** The code of an MCP server that is not there: 404 until 0.2, 4014 from 0.3 on; one that does not run has a reason. */
  #errorCode(): number | undefined {
    const error = toErrorPayload(this.#answer.failure);
    const { NOT_FOUND, MCP_SERVER_NOT_FOUND } = ErrorCode;
    const { code, mcp_server, mcp_server_name, reason } = Object(error);
    if (typeof (mcp_server ?? mcp_server_name) !== "string") return undefined;
    if (this.#answer.reader.bundleIds) {
      return code === NOT_FOUND && reason === undefined
        ? MCP_SERVER_NOT_FOUND
        : undefined;
    }
    return code === MCP_SERVER_NOT_FOUND ? NOT_FOUND : undefined;
  }

  /** The field by which the reader's SDKs read the MCP server of an error, where it is not there. */
  #serverName(at: number): string | undefined {
    const fields = new Map<string, string | undefined>();
    const { bytes, reader, failure } = this.#answer;
    const { code } = Object(toErrorPayload(failure));
    eachMember(bytes, at, (member) => {
      const field = ERROR_FIELDS.find((name) => this.#isNamed(member, name));
      if (field) fields.set(field, nameIn(bytes, member));
    });
    const isNeeded = code === ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED ||
      reader.bundleIds && code === ErrorCode.MCP_SERVER_NOT_FOUND;
    const [from, to] = reader.bundleIds
      ? ["mcp_server_name", "mcp_server"]
      : ["mcp_server", "mcp_server_name"];
    const own = fields.get(from!);
    if (!isNeeded || own === undefined || fields.has(to!)) return undefined;
    const given = this.#names.givenTo(own) ?? own;
    return `"${to}":${JSON.stringify(given)}`;
  }

  /** The result of a failed tool call, whose `meta` names an MCP server that requires authorization. */
  failedResult(): Uint8Array {
    this.#edit.object(this.#answer.start, (member) => {
      const isMeta = this.#isNamed(member, "meta") ||
        this.#isNamed(member, "_meta");
      if (!isMeta || !this.#isObject(member)) return undefined;
      return () => this.#rename(member.start);
    });
    return this.#finish();
  }

  // ---------------------------------------------------------------- lists

  /** Adds the `bundle_id` that 0.3 requires to the tools of an older Computer (protocol §13). */
  tools(): Uint8Array {
    return this.#list("tools", (start) => this.#tool(start));
  }

  #tool(start: number): number {
    const { bytes } = this.#answer;
    let hasId = false;
    let tag: string | undefined;
    const change = (member: JsonMember) => {
      if (this.#isNamed(member, "bundle_id")) {
        const isText = bytes[member.start] === QUOTE;
        hasId ||= isText;
        return isText ? undefined : null;
      }
      if (this.#isNamed(member, "meta")) tag = this.#tagIn(member);
    };
    return this.#edit.object(
      start,
      change,
      () => hasId ? undefined : idMember(this.#serverOf(tag)),
    );
  }

  /** The tag by which this package's Computers name the server of a tool. */
  #tagIn(meta: JsonMember): string | undefined {
    if (!this.#isObject(meta)) return undefined;
    const { bytes } = this.#answer;
    let tag: string | undefined;
    eachMember(bytes, meta.start, (member) => {
      if (this.#isNamed(member, MCP_SERVER_KEY)) {
        tag = nameIn(bytes, member);
      }
    });
    return tag;
  }

  /** Without a tag, a single server is that of all tools. */
  #serverOf(tag: string | undefined): string {
    if (tag !== undefined) return this.#names.idOf(tag);
    return this.#names.only ?? NAMELESS;
  }

  /** A list whose items name their MCP servers. */
  naming(field: string): Uint8Array {
    return this.#list(field, (start) => this.#rename(start));
  }

  /** Edits the objects in a list of the answer. */
  #list(field: string, edit: (start: number) => number): Uint8Array {
    this.#edit.object(this.#answer.start, (member) => {
      return this.#isNamed(member, field)
        ? () => this.#items(member, edit)
        : undefined;
    });
    return this.#finish();
  }

  /** Edits the objects in the list of a member. */
  #items({ start }: JsonMember, edit: (start: number) => number): void {
    const { bytes } = this.#answer;
    if (!isArrayAt(bytes, start)) return;
    eachItem(bytes, start, (at) => {
      this.#countItem();
      return isObjectAt(bytes, at) ? edit(at) : skipJsonValue(bytes, at);
    });
  }

  // ---------------------------------------------------------------- get_config

  /** Writes keys, ids and options as the reader's version has them (protocol §4, §13). */
  config(): Uint8Array {
    const { reader, start } = this.#answer;
    this.#edit.object(start, (member) => {
      if (this.#isNamed(member, "inputs")) {
        return () => this.#items(member, (at) => this.#input(at));
      }
      if (!this.#isNamed(member, "servers") || !this.#isObject(member)) {
        return undefined;
      }
      const { start: at } = member;
      return () => reader.bundleIds ? this.#byId(at) : this.#byName(at);
    });
    return this.#finish();
  }

  /**
   * Takes the explicit `bundle_id`, else derives it from the name. Where nothing is left of a name, only its
   * Computer can make the digest of protocol §13: others see its connection in a redacted form.
   */
  #byId(at: number): void {
    this.#servers(
      at,
      "bundle_id",
      (name, explicit) =>
        isBundleId(explicit)
          ? this.#names.give(name, explicit)
          : this.#names.idOf(name),
    );
  }

  /** A key of 0.2 is the name, and must be unique: servers that share a name keep their id in its place. */
  #byName(at: number): void {
    const { bytes } = this.#answer;
    const ids = new Set<string>();
    const count = new Map<string, number>();
    eachMember(bytes, at, (server) => {
      this.#countServer();
      const id = nameIn(bytes, keyOf(server));
      if (id !== undefined) ids.add(id);
      const name = this.#textOf(server.start, "name");
      if (name !== undefined) count.set(name, (count.get(name) ?? 0) + 1);
    });
    this.#servers(at, "name", (id, name) => {
      const isUnique = name !== undefined && name !== "" &&
        count.get(name) === 1 && (name === id || !ids.has(name));
      return this.#names.give(id, isUnique ? name : id);
    });
  }

  /**
   * Writes the keys of servers, and the same into a field of each.
   *
   * @param nameOf returns the new key of a server, from the old one and the text in its field
   */
  #servers(
    at: number,
    field: string,
    nameOf: (key: string, text: string | undefined) => string,
  ): void {
    const { bytes } = this.#answer;
    const edit = this.#edit;
    this.#countedServers = 0;
    eachMember(bytes, at, (server) => {
      this.#countServer();
      const key = nameIn(bytes, keyOf(server));
      // What is longer than a name is none (protocol §4), and is not remembered.
      if (key === undefined || !this.#isObject(server)) return;
      const json = JSON.stringify(
        nameOf(key, this.#textOf(server.start, field)),
      );
      edit.replace(keyOf(server), json);
      let isThere = false;
      edit.object(server.start, (member) => {
        if (!this.#isNamed(member, field)) return undefined;
        isThere = true;
        return json;
      }, () => isThere ? undefined : `"${field}":${json}`);
    });
  }

  /** Returns the name in a field of an object; the last one counts, as for every parser of JSON in JavaScript. */
  #textOf(at: number, field: string): string | undefined {
    const { bytes } = this.#answer;
    if (!isObjectAt(bytes, at)) return undefined;
    let text: string | undefined;
    eachMember(bytes, at, (member) => {
      if (this.#isNamed(member, field)) text = nameIn(bytes, member);
    });
    return text;
  }

  /** The options of a pickString have labels since 0.3 (protocol §4). */
  #input(at: number): number {
    const { bytes } = this.#answer;
    if (this.#textOf(at, "type") !== "pickString") {
      return skipJsonValue(bytes, at);
    }
    return this.#edit.object(at, (member) => {
      if (!this.#isNamed(member, "options")) return undefined;
      const { start } = member;
      if (!isArrayAt(bytes, start)) return undefined;
      return () =>
        void eachItem(bytes, start, (each) => {
          this.#countItem();
          return this.#option(each);
        });
    });
  }

  #option(start: number): number {
    const { bytes, reader } = this.#answer;
    const end = skipJsonValue(bytes, start);
    const raw = (span: JsonSpan) => textIn(bytes, span);
    if (reader.bundleIds) {
      if (bytes[start] !== QUOTE) return end;
      const text = raw({ start, end });
      this.#edit.replace({ start, end }, `{"label":${text},"value":${text}}`);
    } else if (isObjectAt(bytes, start)) {
      let value = "null";
      eachMember(bytes, start, (member) => {
        if (this.#isNamed(member, "value")) value = raw(member);
      });
      this.#edit.replace({ start, end }, value);
    }
    return end;
  }

  // ---------------------------------------------------------------- helpers

  /** Renames the MCP server in the object at an offset; returns where that ends. */
  #rename(at: number): number {
    return this.#edit.object(at, (member) => this.#renamed(member));
  }

  /** What replaces the value of a member that names an MCP server. */
  #renamed(member: JsonMember): string | undefined {
    const isName = this.#isNamed(member, "mcp_server") ||
      this.#isNamed(member, "mcp_server_name");
    if (!isName) return undefined;
    const own = nameIn(this.#answer.bytes, member);
    const given = own === undefined ? undefined : this.#names.givenTo(own);
    return given === undefined ? undefined : JSON.stringify(given);
  }

  #isNamed(member: JsonMember, name: string): boolean {
    return isNamed(this.#answer.bytes, member, name);
  }

  #isObject({ start }: JsonMember): boolean {
    return isObjectAt(this.#answer.bytes, start);
  }

  #countServer(): void {
    if (++this.#countedServers <= MAX_SERVERS) return;
    throw new LimitError(`has more than ${MAX_SERVERS} MCP servers`);
  }

  #countItem(): void {
    if (++this.#count <= MAX_TRANSLATED_ITEMS) return;
    throw new LimitError(
      `has more than ${MAX_TRANSLATED_ITEMS} items to translate`,
    );
  }

  #finish(): Uint8Array {
    return this.#edit.finish(this.#answer.end);
  }
}

const QUOTE = 0x22;

/** The fields of an error that name its MCP server. */
const ERROR_FIELDS = ["mcp_server", "mcp_server_name"] as const;

const idMember = (id: string): string => `"bundle_id":${JSON.stringify(id)}`;
