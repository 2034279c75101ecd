/** Groups of sockets that receive each other's frames; a socket names its group. */
export class Groups<T> {
  readonly #groups = new Map<string, T[]>();

  /** Adds a socket; returns its group, an array to which later members are added. */
  enter(url: string, socket: T): readonly T[] {
    const name = new URL(url, "http://localhost").searchParams.get("group") ??
      "";
    const group = this.#groups.get(name) ?? [];
    this.#groups.set(name, group);
    group.push(socket);
    return group;
  }
}
