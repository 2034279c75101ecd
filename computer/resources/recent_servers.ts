/** Which MCP servers tools were called of; decides what Desktop and Finder show first (spec §8.1). */
export class RecentServers {
  readonly #servers = new Set<string>();

  /** Each once, the one used last at the end. */
  get history(): string[] {
    return [...this.#servers];
  }

  /** A tool of the server was called. */
  used(server: string): void {
    this.#servers.delete(server);
    this.#servers.add(server);
  }

  /** Forgets everything: the calls of one office are none of another's business. */
  clear(): void {
    this.#servers.clear();
  }
}
