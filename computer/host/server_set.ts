/** The part of a server that it is found by. */
interface Identified {
  /** Its `bundle_id`. */
  readonly bundleId: string;
  /** Its configuration, with the name for people. */
  readonly config: { readonly name: string };
}

/** The MCP servers of a Computer in order, by their `bundle_id`: names may be the same (protocol §13). */
export class ServerSet<S extends Identified = Identified>
  extends Map<string, S> {
  /** Whether the office names servers by their `bundle_id`, as it does since 0.3. */
  bundleIds = false;

  /**
   * Returns how the office names the server of a `bundle_id`. Before 0.3 by its name, or where it
   * shares that with another one by its id, so that each can be reached.
   */
  addressOf(bundleId: string): string {
    const name = this.get(bundleId)?.config.name;
    return this.bundleIds || name === undefined || this.#named(name).length > 1
      ? bundleId
      : name;
  }

  /** Returns the server that the office names so. */
  at(address: string): S | undefined {
    return this.bundleIds ? this.get(address) : this.values()
      .find(({ bundleId }) => this.addressOf(bundleId) === address);
  }

  /** Returns how the office names the server that a person means; a text that means none as it is. */
  addressMeant(nameOrId: string): string {
    const isKnown = this.has(nameOrId) ||
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
        [...this.values()].map(shown).join(", ") || "none"
      }`,
    );
  }

  #named(name: string): S[] {
    return [...this.values()].filter(({ config }) => config.name === name);
  }
}

const shown = ({ bundleId, config: { name } }: Identified): string =>
  bundleId === name ? `"${name}"` : `"${name}" (${bundleId})`;
