/** The part of a server that it is found by. */
interface Identified {
  /** What identifies it. */
  readonly bundleId: string;
  /** Its configuration, with its name for people. */
  readonly config: { readonly name: string };
}

/** How MCP servers are named, by the office and by people. */
export type ServerNames<S extends Identified = Identified> = Omit<
  ServerSet<S>,
  "all" | "get" | "put" | "delete"
>;

/** The MCP servers of a Computer by their `bundle_id`: names may be the same (0.4 §3). */
export class ServerSet<S extends Identified = Identified> {
  /** Whether the office names servers by their `bundle_id`, as it does since 0.3. */
  bundleIds = false;
  readonly #servers = new Map<string, S>();
  /** How many servers have a name; counted again after a change, as each call asks for names. */
  #counts: ReadonlyMap<string, number> | undefined;

  /** All servers in order. */
  get all(): S[] {
    return [...this.#servers.values()];
  }

  /** Returns a server by what identifies it. */
  get(bundleId: string): S | undefined {
    return this.#servers.get(bundleId);
  }

  /** Adds a server, in the place of that with the same id if there is one. */
  put(server: S): void {
    this.#counts = undefined;
    this.#servers.set(server.bundleId, server);
  }

  /** Removes a server. */
  delete(bundleId: string): void {
    this.#counts = undefined;
    this.#servers.delete(bundleId);
  }

  /**
   * Returns how the office names the server of a `bundle_id`. Before 0.3 by its name, or where it
   * shares that with another one by its id, so that each can be reached.
   */
  addressOf(bundleId: string): string {
    const name = this.get(bundleId)?.config.name;
    return this.bundleIds || name === undefined || this.#countOf(name) > 1
      ? bundleId
      : name;
  }

  /** Returns the server that the office names so. */
  at(address: string): S | undefined {
    return this.bundleIds
      ? this.get(address)
      : this.all.find(({ bundleId }) => this.addressOf(bundleId) === address);
  }

  /** Returns how the office names the server that a person means; a text that means none as it is. */
  addressMeant(nameOrId: string): string {
    const isKnown = this.#servers.has(nameOrId) ||
      this.#named(nameOrId).length > 0;
    return isKnown ? this.addressOf(this.find(nameOrId).bundleId) : nameOrId;
  }

  /**
   * Returns the server that a person means, by its name or its id.
   *
   * @throws {TypeError} that lists what there is, when there is none, or more than one of that name
   */
  find(nameOrId: string): S {
    const named = this.#named(nameOrId);
    const [first, ...others] = named;
    if (others.length > 0) {
      throw new TypeError(
        `"${nameOrId}" is the name of ${named.length} MCP servers; say which by its bundle_id: ${
          named.map(({ bundleId }) => `${bundleId} ("${nameOrId}")`).join(", ")
        }`,
      );
    }
    const found = first ?? this.get(nameOrId);
    if (found) return found;
    throw new TypeError(
      `There is no MCP server "${nameOrId}"; the configuration has ${
        this.all.map(shown).join(", ") || "none"
      }`,
    );
  }

  #countOf(name: string): number {
    this.#counts ??= new Map(
      [...Map.groupBy(this.all, ({ config }) => config.name)]
        .map(([name, { length }]) => [name, length]),
    );
    return this.#counts.get(name) ?? 0;
  }

  #named(name: string): S[] {
    return this.all.filter(({ config }) => config.name === name);
  }
}

const shown = ({ bundleId, config: { name } }: Identified): string =>
  bundleId === name ? `"${name}"` : `"${name}" (${bundleId})`;
