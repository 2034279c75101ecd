/**
 * What the MCP servers of a Computer are called by members of versions that name them differently.
 *
 * @module
 */
import { nameOnly } from "./validation.ts";

/** @internal The most servers of a Computer whose names are remembered. */
export const MAX_SERVERS = 1000;
/** The most bytes of these names. */
const MAX_NAME_BYTES = 256 * 1024;
/** @internal The id of a server that has no letter or digit, and of tools whose server is unknown. */
export const NAMELESS = "mcp";

/**
 * The names of one Computer's MCP servers, for members of versions that name them otherwise. A name that
 * was once given keeps its meaning as long as the Computer has its seat, unless it has names without end:
 * when the table is full, all are forgotten.
 */
export class ServerNames {
  /** The Computer's own name of a server, by the given one. */
  readonly #own = new Map<string, string>();
  /** The given name of a server, by the Computer's own. */
  readonly #given = new Map<string, string>();
  /** The number to try next for a name that is taken; keeps a hostile list from taking quadratic time. */
  readonly #numbers = new Map<string, number>();
  #bytes = 0;

  /** The bytes of all names that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the Computer's own name of a server, if that one was given. */
  ownOf(given: string): string | undefined {
    return this.#own.get(given);
  }

  /** Returns the name that a server was given. */
  givenTo(own: string): string | undefined {
    return this.#given.get(own);
  }

  /** The name of the only server; `undefined` where several are known, or none. */
  get only(): string | undefined {
    const [only, another] = this.#given.values();
    return another === undefined ? only : undefined;
  }

  /**
   * Gives a server a name, with a number if another one has it; the same one for the same request.
   *
   * @throws {NamesFullError} when there are too many names, or too large ones
   */
  give(server: string, requested: string): string {
    const before = this.#given.get(server);
    if (before === requested || before?.startsWith(`${requested}-`)) {
      return before;
    }
    let name = requested;
    while ((this.#own.get(name) ?? server) !== server) {
      const number = this.#numbers.get(requested) ?? 2;
      this.#numbers.set(requested, number + 1);
      name = `${requested}-${number}`;
    }
    if (before === undefined && this.#given.size >= MAX_SERVERS) {
      throw new NamesFullError(`names more than ${MAX_SERVERS} MCP servers`);
    }
    this.#bytes += 2 * (server.length + name.length); // both tables have the same two texts
    if (this.#bytes > MAX_NAME_BYTES) {
      throw new NamesFullError(
        `names MCP servers with more than ${MAX_NAME_BYTES} bytes of names`,
      );
    }
    this.#own.set(name, server);
    this.#given.set(server, name);
    return name;
  }

  /** Returns the `bundle_id` that a server was given, or gives it the one of its name. */
  idOf(name: string): string {
    return this.#given.get(name) ??
      this.give(name, nameOnly(name) ?? NAMELESS);
  }

  /** Forgets all names. */
  forget(): void {
    this.#own.clear();
    this.#given.clear();
    this.#numbers.clear();
    this.#bytes = 0;
  }
}

/** Thrown when an answer has more to translate than it may; the message continues "the answer …". */
export class LimitError extends Error {
  override name: string = "LimitError";
}

/** Thrown when the table of names is full. */
export class NamesFullError extends LimitError {
  override name = "NamesFullError";
}
