/** Sockets that hear each other; who comes says to which group it belongs. */
export class Groups<T> {
  readonly #groups = new Map<string, T[]>();

  /** Adds a socket; returns all of its group, the array that later members are added to. */
  enter(url: string, socket: T): readonly T[] {
    const name = new URL(url, "http://localhost").searchParams.get("group") ??
      "";
    const group = this.#groups.get(name) ?? [];
    this.#groups.set(name, group);
    group.push(socket);
    return group;
  }
}
