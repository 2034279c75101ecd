import { log, short } from "../shared/log.ts";

/**
 * Knows which protocol versions are in each office of a server that serves several (0.4 §18).
 *
 * Members of two versions do not see each other although their offices have one id, and people will
 * look for each other: the log says so once, as long as somebody is there.
 */
export class OfficeVersions {
  readonly #offices = new Map<
    string,
    { readonly sockets: Map<string, string>; told: boolean }
  >();

  /** Notes that a socket has joined an office. */
  joined(office: string, socket: string, version: string): void {
    const found = this.#offices.get(office) ??
      { sockets: new Map<string, string>(), told: false };
    this.#offices.set(office, found);
    found.sockets.set(socket, version);
    if (found.told) return;
    const other = found.sockets.values().find((each) => each !== version);
    if (other === undefined) return;
    found.told = true;
    log.warn(
      "Office {office} has members of A2C-SMCP {other} and {version}: members of different versions do not see each other",
      { office: short(office), other, version },
    );
  }

  /** Notes that a socket has left an office. */
  left(office: string, socket: string): void {
    const found = this.#offices.get(office);
    found?.sockets.delete(socket);
    if (found?.sockets.size === 0) this.#offices.delete(office);
  }
}
