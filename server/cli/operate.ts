/**
 * The commands that ask a running Server by its operator API: lists of offices, members and calls, the
 * stream of events, kicks and cancels; below them the client of the API.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { print as printLine, printError, printJson } from "../../cli/print.ts";
import { UsageError } from "../../cli/run.ts";
import {
  type AddressFlags,
  type CredentialFlags,
  type HttpRoute,
  httpRoute,
} from "../../cli/server_flags.ts";
import { columns as inColumns, plain } from "../../cli/terminal_text.ts";
import { isOfficeName, OFFICE_NAME_RULE } from "../../protocol/names.ts";
import type * as z from "../../protocol/schema.ts";
import * as schemas from "../operator/schemas.ts";
import { endText } from "../shared/audit.ts";

/** Flags of commands that show something. */
export interface ShowFlags extends OperatorFlags {
  /** Whether to print JSON. */
  readonly json?: true;
}

/** Prints the offices. */
export async function offices(flags: ShowFlags): Promise<void> {
  const { offices, node } = await read(flags, "/offices", schemas.offices);
  print(flags, offices, "no office that you may see has members", {
    OFFICE: ({ office }) => office,
    AGENT: ({ agent }) => agent,
    COMPUTERS: ({ computers }) => computers,
    CALLS: (each) => each.pending_calls,
    ...(node !== undefined && { NODE: ({ node }) => node }),
  });
}

/** Prints the members of an office. */
export async function members(office: string, flags: ShowFlags): Promise<void> {
  const path = officePath(office, "members");
  const { members } = await read(flags, path, schemas.members);
  print(flags, members, "", {
    NAME: ({ name }) => name,
    ROLE: ({ role }) => role,
    VERSION: ({ version }) => version,
    SINCE: ({ since }) => since,
    CALLS: ({ calls, pending_calls = 0 }) =>
      calls === undefined ? undefined : `${calls} (${pending_calls})`,
    RECEIVED: ({ bytes }) => bytesText(bytes?.received),
    SENT: ({ bytes }) => bytesText(bytes?.sent),
    ADDRESS: ({ address }) => address,
    "LAST ERROR": ({ last_error: error }) =>
      error && (error.message ?? endText(error)),
  });
}

/** Prints the pending calls of an office. */
export async function calls(office: string, flags: ShowFlags): Promise<void> {
  const path = officePath(office, "calls");
  const { calls } = await read(flags, path, schemas.calls);
  print(flags, calls, "no calls in flight", {
    REQ_ID: (each) => each.req_id,
    AGENT: ({ agent }) => agent,
    COMPUTER: ({ computer }) => computer,
    REQUEST: ({ tool, request }) => tool ?? request,
    SECONDS: ({ ms }) => (ms / 1000).toFixed(1),
    "WAITS FOR": ({ waiting }) => waiting,
    "WAITS, S": ({ waiting_ms: ms }) =>
      ms === undefined ? undefined : (ms / 1000).toFixed(1),
  });
}

/** Reads a list, and warns of nodes whose part is missing. */
export async function read<S extends z.ZodMiniType<MissingNodes>>(
  flags: OperatorFlags,
  path: string,
  schema: S,
): Promise<z.output<S>> {
  const answer = await new OperatorClient(flags).ask(path, schema);
  for (const nodes of missingNodes(answer)) {
    printError(`warning: ${nodes}: its entries are missing from this list`);
  }
  return answer;
}

/** Returns a path below that of an office. */
const officePath = (office: string, rest: string): string =>
  `/offices/${encodedName(office)}/${rest}`;

/**
 * Returns a name as a part of a URL.
 *
 * @throws {UsageError} for an invalid name, which a URL could not carry
 */
export function encodedName(office: string): string {
  if (isOfficeName(office)) return encodeURIComponent(office);
  throw new UsageError(
    `invalid office name ${
      plain(JSON.stringify(office))
    }: expected ${OFFICE_NAME_RULE}`,
  );
}

/**
 * Prints a list as a table, or as JSON.
 *
 * @param empty the line for an empty list; without it, the heads alone
 * @param columns the cell of an item in each of them, by their heads
 */
export function print<Item>(
  { json }: { readonly json?: true },
  list: readonly Item[],
  empty: string | undefined,
  columns: Readonly<
    Record<string, (item: Item) => string | number | null | undefined>
  >,
): void {
  if (json) return printJson(list);
  if (list.length === 0 && empty !== undefined) return printLine(empty);
  const cells = Object.values(columns);
  const rows = list.map((item) =>
    cells.map((cell) => String(cell(item) ?? "-"))
  );
  inColumns([Object.keys(columns), ...rows]).forEach(printLine);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** How long to wait before a lost stream is opened again. */
const RETRY_MS = 1000;

/**
 * Prints events, one a line, until a signal; a lost stream is opened again at its last event.
 *
 * @throws {Error} when it cannot be opened
 */
export async function watch(
  office: string | undefined,
  flags: ShowFlags,
): Promise<void> {
  const client = new OperatorClient(flags);
  const [watched, query] = office === undefined ? ["all offices", ""] : [
    `the office "${plain(office)}"`,
    `?office=${encodedName(office)}`,
  ];
  let last: string | undefined;
  while (true) {
    const headers = last ? { "Last-Event-ID": last } : {};
    const stream = await client.send(`/events${query}`, undefined, headers);
    stream.setEncoding("utf8");
    try {
      for await (const { id, kind, data } of eventsOf(stream)) {
        if (kind === "end") {
          printError(`the stream ended: ${plain(String(data.reason))}`);
        } else if (kind === "open" && last === undefined) {
          printError(`watching ${watched} (Ctrl-C ends it)`);
        } else if (kind === "open") {
          if (data.missed === true) printError("events were missed");
        } else {
          if (flags.json) printJson(data, 0);
          else printLine(eventLine(kind, data));
        }
        last = id;
      }
    } catch {
      // The next attempt reports the reason, if it lasts.
    }
    await sleep(RETRY_MS);
  }
}

/** An event of the stream. */
interface Event {
  readonly id: string;
  readonly kind: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function* eventsOf(stream: AsyncIterable<string>): AsyncIterable<Event> {
  let text = "";
  for await (const chunk of stream) {
    const blocks = (text + chunk).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, id, kind, data] =
        /^id: (.*)\nevent: (.*)\ndata: ([^\n]*)$/.exec(block) ?? [];
      if (id === undefined || kind === undefined) continue; // a comment
      yield { id, kind, data: JSON.parse(data ?? "{}") };
    }
  }
}

/** Writes an event as one line for people: `12:03:04 north joined role=computer name=pc`. */
export function eventLine(
  kind: string,
  { at, event: _, office, ...fields }: Event["data"],
): string {
  const time = String(at).slice(11, 19);
  const rest = Object.entries(fields).map(([key, value]) =>
    ` ${key}=${
      typeof value === "string" && /^[\w.:/@-]+$/.test(value)
        ? value
        : JSON.stringify(value)
    }`
  );
  return plain(
    `${time} ${typeof office === "string" ? office : "-"} ${kind}${
      rest.join("")
    }`,
  );
}

/** The nodes of a cluster that an answer of the operator API lacks. */
type MissingNodes = Pick<
  z.output<typeof schemas.done>,
  "unanswered" | "not_operated"
>;

/** Names nodes that an answer lacks: those without an answer, and those that operators cannot ask. */
export const missingNodes = (
  { unanswered = [], not_operated = [] }: MissingNodes,
): string[] =>
  ([
    ["no answer from the node", unanswered],
    ["the operator API is off, by --no-operator, on the node", not_operated],
  ] as const).filter(([, nodes]) => nodes.length > 0).map(([problem, nodes]) =>
    `${problem}${nodes.length > 1 ? "s" : ""} ${plain(nodes.join(", "))}`
  );

/** Flags of commands that change something. */
export interface ChangeFlags extends OperatorFlags {
  /** The reason that the member gets. */
  readonly reason: string;
}

/** Flags of `kick`. */
interface KickFlags extends ChangeFlags {
  /** Distinguishes an Agent and a Computer of one name. */
  readonly role?: "agent" | "computer";
  /** Seconds in which the seat stays closed. */
  readonly hold: number;
}

/**
 * Kicks a member.
 *
 * @throws {Error} when there is none of that name, or several
 */
export async function kick(
  office: string,
  name: string,
  flags: KickFlags,
): Promise<void> {
  const { reason, role, hold } = flags;
  const client = new OperatorClient(flags);
  const path = officePath(office, "members");
  const { members } = await client.ask(path, schemas.members);
  const found = members.filter((each) =>
    each.name === name && (role ?? each.role) === each.role
  );
  const [member] = found;
  if (member === undefined) {
    throw new Error(
      `no member of this name in ${plain(office)}: ${
        plain(name)
      }; the command "members" lists them`,
    );
  }
  if (found.length > 1) {
    throw new Error(
      `several members have the name ${plain(name)}: ${
        found.map(({ role }) => `add --role ${role}`).join(", or ")
      }`,
    );
  }
  await client.ask(
    `/members/${encodeURIComponent(member.id)}/kick`,
    schemas.done,
    { reason, hold_ms: hold * 1000 },
  );
  printLine(`kicked: ${plain(name)}`);
}

/**
 * Cancels a call.
 *
 * @throws {Error} when there is none with that id
 */
export async function cancel(
  office: string,
  req_id: string,
  flags: ChangeFlags,
): Promise<void> {
  const { reason } = flags;
  const path = officePath(office, "calls/cancel");
  await new OperatorClient(flags).ask(path, schemas.done, { req_id, reason });
  printLine(`cancelled: ${plain(req_id)}`);
}

/** The address of a Server and the credentials, from the command line. */
export type OperatorFlags = AddressFlags & CredentialFlags;

/** The largest answer that is read, in bytes: the members of the largest office take a few MiB. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

/** A client of the operator API of a Server. */
export class OperatorClient {
  readonly #server: HttpRoute;
  readonly #token: string;
  /** The URL of the Server, without a slash at its end. */
  readonly #base: string;

  /** @throws {UsageError} without credentials, and for an invalid address, proxy or file */
  constructor({ token, apiKey, ...flags }: OperatorFlags) {
    this.#server = httpRoute(flags);
    const { warning } = this.#server;
    if (warning !== undefined) printError(`warning: ${warning}`);
    const sent = token ?? apiKey;
    if (sent === undefined || !/^[\x21-\x7e]+$/.test(sent)) {
      throw new UsageError(
        "no token: give the one that the Server printed at its start, or an operator's, with --token (SMCP_TOKEN), or a key with --api-key (SMCP_API_KEY)",
      );
    }
    this.#token = sent;
    // As the other commands take it.
    this.#base = flags.url.replace(/\/+$/, "").replace(/^ws/, "http");
  }

  /**
   * Reads something, or changes it.
   *
   * @param body of a change
   */
  async ask<S extends z.ZodMiniType>(
    path: string,
    schema: S,
    body?: unknown,
  ): Promise<z.output<S>> {
    const response = await this.send(path, body);
    const result = schema.safeParse(await readAnswer(response));
    if (result.success) return result.data;
    throw this.#noOperatorApi();
  }

  /**
   * Sends a request.
   *
   * @throws {Error} that explains a refusal
   */
  async send(
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#base}/operator/v1${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = url.protocol === "https:" ? httpsRequest : httpRequest;
    const answered = Promise.withResolvers<IncomingMessage>();
    const fail = (error: Error) =>
      this.#server.failure(error).then(answered.reject, answered.reject);
    const options = {
      ...await this.#server.options(),
      method: text === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        Authorization: `Bearer ${this.#token}`,
        ...(text !== undefined && {
          "Content-Type": "application/json",
          "Content-Length": String(Buffer.byteLength(text)),
        }),
      },
    };
    request(url, options, answered.resolve).on("error", fail).end(text);
    const response = await answered.promise;
    if (response.statusCode !== 200) throw await this.#refusal(response);
    return response;
  }

  /** Explains a refusal in terms of the command line. */
  async #refusal(response: IncomingMessage): Promise<Error> {
    const { statusCode } = response;
    const { data } = schemas.problem.safeParse(await readAnswer(response));
    if (data === undefined) {
      return statusCode !== 404 ? this.#noOperatorApi() : new Error(
        `the Server at ${this.#base} has no operator API: give a key the role operator, or correct --url`,
      );
    }
    if (statusCode !== 401) return new Error(data.detail);
    const reason = EXPIRED.exec(data.detail)?.[0] ?? "unknown token";
    return new Error(
      `${reason}: give the one that the Server printed at its start, or an operator's, with --token (SMCP_TOKEN)`,
    );
  }

  #noOperatorApi(): Error {
    return new Error(
      `no operator API of this version at ${this.#base}; correct --url`,
    );
  }
}

/** Reads a body; returns `undefined` unless it is JSON. */
async function readAnswer(response: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error("the answer is too large");
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

/** Matches the reason that a Server gives only to the holder of credentials that were valid. */
const EXPIRED = /the (API key|token) expired at [^;]+/;
