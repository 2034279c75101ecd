/**
 * The tools of an office: {@linkcode ToolCatalogue} keeps those of each Computer up to date from
 * notifications, with few requests at a time; {@linkcode onlyOffering} finds the one that a name means.
 *
 * @module
 */
import { isComputerNotFound } from "./requests.ts";
import { FIND_TOOL_NAMES, type FindToolOptions } from "./options.ts";
import { ConnectionError } from "../client/errors.ts";
import type { AnyNotification } from "../client/options.ts";
import { backoff } from "../client/wire.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  type GetToolsRet,
  LEAVE_OFFICE_NOTIFICATION,
  ProtocolError,
  type SMCPTool,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../protocol/mod.ts";
import { ownToolName, toolsMeant } from "../protocol/payloads/tools.ts";
import { abortable, sleep } from "../shared/async.ts";
import { checkNames, nearestWord } from "../shared/checks.ts";

/** How a notification changes an Agent's list of tools. */
export type CatalogueStep = { fetch: string } | { forget: string } | undefined;

/** Decides how a notification changes the catalogue (protocol §9). */
export function catalogueStep(
  { event, payload }: AnyNotification,
): CatalogueStep {
  switch (event) {
    case ENTER_OFFICE_NOTIFICATION:
    case LEAVE_OFFICE_NOTIFICATION:
    case UPDATE_TOOL_LIST_NOTIFICATION:
    case UPDATE_CONFIG_NOTIFICATION: {
      const { computer } = payload;
      if (computer === undefined) return undefined;
      const isGone = event === LEAVE_OFFICE_NOTIFICATION;
      return isGone ? { forget: computer } : { fetch: computer };
    }
  }
}

/** How the catalogue reaches the office and reports changes. */
interface CatalogueOffice {
  /** Lists the Computers in the office. */
  list(): Promise<string[]>;
  /** Fetches the tools of one Computer. */
  fetch(
    computer: string,
  ): Promise<Pick<GetToolsRet, "tools" | "problems" | "starting">>;
  /** Called after each change; without tools when the Computer left. */
  changed(computer: string, tools: readonly SMCPTool[] | undefined): void;
  /** Called when tools could not be fetched; those known before stay. */
  failed(computer: string, error: unknown): void;
}

/**
 * The tools of every Computer in the office, kept up to date (protocol §9).
 *
 * Fetches once per Computer at a time: changes during a fetch lead to one more fetch after it, so
 * the last state always arrives, and an old answer never replaces a newer one.
 */
export class ToolCatalogue {
  readonly #office: CatalogueOffice;
  readonly #tools = new Map<string, readonly SMCPTool[]>();
  readonly #problems = new Map<string, readonly string[]>();
  readonly #starting = new Map<string, number>();
  readonly #fetches = new Map<string, Fetch>();
  readonly #queue = new RequestQueue();
  #listing: Promise<void> | undefined;

  /** Makes an empty catalogue. */
  constructor(office: CatalogueOffice) {
    this.#office = office;
  }

  /** Tools by Computer, as last fetched. */
  get byComputer(): ReadonlyMap<string, readonly SMCPTool[]> {
    return this.#tools;
  }

  /** Why tools of a Computer are missing, where some are. */
  get problems(): ReadonlyMap<string, readonly string[]> {
    return this.#problems;
  }

  /** How many MCP servers of a Computer start for the first time, where some do. */
  get starting(): ReadonlyMap<string, number> {
    return this.#starting;
  }

  /** Starts over after a join: forgets Computers that left, fetches the tools of all others. */
  refresh(): void {
    const request = this.#queue.run(() => this.#office.list(), isTransient);
    const listing = request.then((computers) => {
      if (this.#listing !== listing) return;
      const there = new Set(computers);
      for (const known of [...this.#tools.keys()]) {
        // A Computer that is being fetched may have entered after the list was made.
        const isComing = this.#fetches.has(known);
        if (!there.has(known) && !isComing) this.forget(known);
      }
      computers.forEach((computer) => this.fetch(computer));
    }, () => {
      // The connection is gone again: the next join starts over.
    }).finally(() => {
      if (this.#listing === listing) this.#listing = undefined;
    });
    this.#listing = listing;
  }

  /** Applies a step of {@linkcode catalogueStep}. */
  apply(step: CatalogueStep): void {
    if (!step) return;
    if ("fetch" in step) this.fetch(step.fetch);
    else this.forget(step.forget);
  }

  /** Fetches the tools of a Computer, now or after the fetch that is running. */
  fetch(computer: string): void {
    const running = this.#fetches.get(computer);
    if (running) running.again = true;
    else this.#run(computer);
  }

  /** Forgets a Computer. */
  forget(computer: string): void {
    this.#fetches.delete(computer); // a pending answer is dropped
    this.#problems.delete(computer);
    this.#starting.delete(computer);
    if (this.#tools.delete(computer)) {
      this.#office.changed(computer, undefined);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#queue.end();
    this.#fetches.clear();
    this.#listing = undefined;
    for (const computer of [...this.#tools.keys()]) this.forget(computer);
  }

  /** Resolves once no fetch is running. */
  async settled(): Promise<void> {
    while (this.#listing || this.#fetches.size > 0) {
      await this.#listing;
      await Promise.all([...this.#fetches.values()].map((f) => f.done));
    }
  }

  #run(computer: string): void {
    const fetch: Fetch = { again: false, done: Promise.resolve() };
    this.#fetches.set(computer, fetch);
    const current = () => this.#fetches.get(computer) === fetch;
    const request = this.#queue.run(() => this.#office.fetch(computer));
    fetch.done = request.then(({ tools, problems = [], starting = 0 }) => {
      if (!current()) return;
      if (typeof starting === "number" && starting > 0) {
        this.#starting.set(computer, starting);
      } else this.#starting.delete(computer);
      this.#tools.set(computer, tools);
      if (problems.length > 0) this.#problems.set(computer, problems);
      else this.#problems.delete(computer);
      this.#office.changed(computer, tools);
    }, (error) => {
      if (!current()) return;
      if (!isComputerNotFound(error)) this.#office.failed(computer, error);
      else if (!fetch.again) this.forget(computer); // otherwise it has reconnected
    }).then(() => {
      if (!current()) return;
      this.#fetches.delete(computer);
      if (fetch.again) this.#run(computer);
    });
  }
}

interface Fetch {
  again: boolean;
  done: Promise<void>;
}

/** Checks whether another attempt may succeed. */
const isTransient = (error: unknown): boolean =>
  isTooMany(error) ||
  error instanceof ConnectionError && error.code === "timeout";

/** A tool, and the Computer that offers it. */
export interface FoundTool {
  /** Name of the Computer. */
  readonly computer: string;
  /** The tool, as the Computer lists it. */
  readonly tool: SMCPTool;
}

/** Why a tool was not found: `not_found`, no Computer offers it, or `ambiguous`, several MCP servers do. */
export type ToolLookupErrorCode = "not_found" | "ambiguous";

/** No Computer offers a tool, or several MCP servers do. */
export class ToolLookupError extends Error {
  /** Always `"ToolLookupError"`. */
  override readonly name = "ToolLookupError";
  /** The kind of failure. */
  readonly code: ToolLookupErrorCode;
  /** The Computers that offer it; none if it was not found. */
  readonly computers: readonly string[];

  /** Creates an error from its kind, a message for people, and the Computers. */
  constructor(
    code: ToolLookupErrorCode,
    message: string,
    computers: readonly string[],
  ) {
    super(message);
    this.code = code;
    this.computers = computers;
  }
}

/** Finds all tools that a name means: a whole one, or a tool's own name without its `bundle_id`. */
export const offering = (
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
): FoundTool[] =>
  [...tools].flatMap(([computer, offered]) =>
    toolsMeant(offered, name).map((tool) => ({ computer, tool }))
  );

/** Asks for the tool that a misspelt name most likely means: `; did you mean "read"?`, or `""`. */
export function suggestTool(
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
): string {
  const all = [...tools.values()].flat();
  const meant = nearestWord(name, all.map(ownToolName)) ??
    nearestWord(name, all.map((tool) => tool.name));
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

/**
 * Names the tools that a name means, and how to choose one of them.
 *
 * @param found at least two
 * @param option how the caller names the Computer
 */
export function ambiguity(
  name: string,
  found: readonly FoundTool[],
  option: string,
): string {
  const wholeNames = (own: readonly FoundTool[]) =>
    own.map(({ tool }) => tool.name).join(" or ");
  const byComputer = Map.groupBy(found, ({ computer }) => computer);
  const quoted = JSON.stringify(name);
  if (byComputer.size === 1) {
    const names = wholeNames(found);
    return `several MCP servers offer the tool ${quoted}; give its whole name: ${names}`;
  }
  const computers = [...byComputer].map(([computer, own]) =>
    own.length > 1 ? `${computer}: ${wholeNames(own)}` : computer
  ).join(", ");
  return `several Computers offer the tool ${quoted} (${computers}); choose one with ${option}`;
}

/** The part of an Agent that finds tools. */
interface ToolSource {
  readonly tools: ReadonlyMap<string, readonly SMCPTool[]>;
  readonly office: string | undefined;
  toolsSettled(): Promise<void>;
}

/**
 * Finds the one tool that a name means, once the tools of all Computers are fetched.
 *
 * @throws {ToolLookupError}
 */
export async function findTool(
  agent: ToolSource,
  name: string,
  options: FindToolOptions,
): Promise<FoundTool> {
  checkNames(options, FIND_TOOL_NAMES, "findTool()");
  const { computer, signal } = options;
  const settled = agent.toolsSettled();
  await (signal ? abortable(settled, signal) : settled);
  const tools = computer === undefined
    ? agent.tools
    : new Map([[computer, agent.tools.get(computer) ?? []]]);
  return onlyOffering(tools, name, agent.office);
}

/**
 * Chooses the one tool that a name means.
 *
 * @param office where it was looked for; `undefined` if the Agent is in none
 * @throws {ToolLookupError}
 */
export function onlyOffering(
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
  office: string | undefined,
): FoundTool {
  const found = offering(tools, name);
  const [only, ...others] = found;
  if (only === undefined) {
    const place = `office ${JSON.stringify(office)}`;
    const computers = [...tools.keys()].join(", ");
    const why = office === undefined
      ? "the Agent is in no office; join one first"
      : tools.size === 0
      ? `there is no Computer in ${place}, if that is its name`
      : `none of the Computers in ${place} (${computers}) offers it; \`agent.tools\` has what they offer${
        suggestTool(tools, name)
      }`;
    const message = `Cannot find tool ${JSON.stringify(name)}: ${why}`;
    throw new ToolLookupError("not_found", message, []);
  }
  if (others.length === 0) return only;
  const message = ambiguity(name, found, "the option `computer`");
  const computers = new Set(found.map(({ computer }) => computer));
  throw new ToolLookupError("ambiguous", `Cannot choose: ${message}`, [
    ...computers,
  ]);
}

/** Concurrent requests that an Agent makes on its own; leaves slots for those of its user. */
const MAX_CONCURRENT = 8;

/**
 * Makes requests in order with bounded concurrency, and repeats those that the Server refuses for
 * their rate (protocol §10): an office may have more members than an Agent may ask within a second.
 */
class RequestQueue {
  #running = 0;
  #waiting: (() => void)[] = [];
  #over = new AbortController();

  /**
   * Makes a request, immediately if a slot is free.
   *
   * @param isTransient selects the failures worth another attempt
   * @throws what `request` throws, or an `AbortError` after {@linkcode RequestQueue.end}
   */
  async run<T>(
    request: () => Promise<T>,
    isTransient: (error: unknown) => boolean = isTooMany,
  ): Promise<T> {
    const { signal } = this.#over;
    for (let attempt = 0;; attempt++) {
      while (this.#running >= MAX_CONCURRENT) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        signal.throwIfAborted();
      }
      this.#running++;
      try {
        return await request();
      } catch (error) {
        if (signal.aborted || !isTransient(error)) throw error;
      } finally {
        this.#running--;
        this.#waiting.shift()?.();
      }
      await sleep(backoff(attempt, Math.random()), signal);
    }
  }

  /** Drops all waiting requests. */
  end(): void {
    this.#over.abort();
    this.#over = new AbortController();
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** Checks whether the Server refused a request for its rate. */
const isTooMany = (error: unknown): boolean =>
  error instanceof ProtocolError &&
  error.code === ErrorCode.TOO_MANY_REQUESTS;
