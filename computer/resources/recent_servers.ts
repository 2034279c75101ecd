/** Remembers which MCP servers were used last, for the order of Desktop and Finder (spec §8.1). */
export class RecentServers {
  readonly #servers = new Set<string>();

  /** The `bundle_id` of each server once, the most recent last. */
  get history(): string[] {
    return [...this.#servers];
  }

  /** Records a tool call of a server. */
  used(server: string): void {
    this.#servers.delete(server);
    this.#servers.add(server);
  }

  /** Forgets everything: the history of one office must not leak into another. */
  clear(): void {
    this.#servers.clear();
  }
}
