/**
 * The socket by which commands of the same user reach a running Computer: `pair`, `devices`, `rules`.
 *
 * It is no reason for the process to go on, and is removed at its end. Whoever can open it may do all that
 * the user may: so only the user can.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import process from "node:process";
import { isSameToken } from "../../shared/authorization.ts";
import { reasonOf } from "../util/values.ts";
import { type Entry, newEntry, publish, withdraw } from "./entries.ts";
import { JsonLines } from "./lines.ts";
import {
  type ControlCommand,
  type ControlRequest,
  type ControlResults,
  DIGITS,
  HELLO,
  type PairingEvent,
  REQUEST,
  REQUEST_BYTES,
} from "./messages.ts";

/** The other side of a pairing. */
export interface PairingTalk {
  /** Shows what happens. */
  show(event: PairingEvent): void;
  /** Returns the digits that the person types next; undefined when the command has ended. */
  digits(): Promise<string | undefined>;
}

/** What a Computer does for commands; a rejection is an error with its remedy. */
export interface ControlTarget {
  /** Where it is. */
  where(): ControlResults["where"];
  /** The devices that may answer. */
  devices(): Promise<ControlResults["devices"]>;
  /** Removes one, by its label or the beginning of its id. */
  removeDevice(which: string): Promise<ControlResults["removeDevice"]>;
  /** Its rules and permissions. */
  rules(): Promise<ControlResults["rules"]>;
  /** Removes a permission by its id. */
  removePermission(which: string): Promise<ControlResults["removePermission"]>;
  /** Pairs a device; ends when the command ends. */
  pair(
    page: string | undefined,
    talk: PairingTalk,
  ): Promise<ControlResults["pair"]>;
}

/** How many commands may be connected: each is a person's. */
const MAX_CONNECTIONS = 16;

/** Listens for commands of the same user. */
export class ControlSocket {
  readonly #server: Server;
  readonly #entry: Entry;
  readonly #sockets = new Set<Socket>();
  readonly #onExit: () => void;

  private constructor(server: Server, entry: Entry) {
    this.#server = server;
    this.#entry = entry;
    this.#onExit = () => withdraw(entry);
    process.once("exit", this.#onExit);
  }

  /**
   * Listens.
   *
   * @param folder of running Computers
   * @throws {Error} when the folder cannot be written, or is another user's
   */
  static async open(
    target: ControlTarget,
    folder: string,
  ): Promise<ControlSocket> {
    const entry = await newEntry(folder);
    const server = createServer();
    server.maxConnections = MAX_CONNECTIONS;
    const control = new ControlSocket(server, entry);
    server.on("connection", (socket) => control.#serve(target, socket));
    try {
      server.listen(entry.socket);
      await once(server, "listening");
      server.on("error", () => {}); // such as a lack of descriptors: the next command may have one
      server.unref();
      await publish(entry);
    } catch (error) {
      await control.close();
      throw error;
    }
    return control;
  }

  /** Stops listening, and ends what runs. */
  async close(): Promise<void> {
    process.off("exit", this.#onExit);
    withdraw(this.#entry);
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }

  #serve(target: ControlTarget, socket: Socket): void {
    this.#sockets.add(socket);
    socket.unref();
    socket.on("close", () => this.#sockets.delete(socket));
    void serve(target, new JsonLines(socket, REQUEST_BYTES), this.#entry.token)
      .finally(() => socket.destroy());
  }
}

/** Answers the requests of one connection, one after the other. */
async function serve(
  target: ControlTarget,
  lines: JsonLines,
  token: string,
): Promise<void> {
  const hello = HELLO.safeParse(await lines.next());
  if (!hello.success || !isSameToken(hello.data.token, token)) return;
  for (;;) {
    const line = await lines.next();
    if (line === undefined) return;
    const request = REQUEST.safeParse(line);
    if (!request.success) {
      lines.send({
        error:
          "the running Computer does not know this request: it has another version; start it again",
      });
      continue;
    }
    try {
      lines.send({ result: await answer(target, request.data, lines) });
    } catch (error) {
      lines.send({ error: reasonOf(error) });
    }
  }
}

function answer(
  target: ControlTarget,
  request: ControlRequest,
  lines: JsonLines,
): ControlResults[ControlCommand] | Promise<ControlResults[ControlCommand]> {
  switch (request.command) {
    case "where":
      return target.where();
    case "devices":
      return target.devices();
    case "removeDevice":
      return target.removeDevice(request.which);
    case "rules":
      return target.rules();
    case "removePermission":
      return target.removePermission(request.which);
    case "pair":
      return target.pair(request.page, {
        show: (event) => lines.send(event),
        digits: async () => DIGITS.safeParse(await lines.next()).data?.digits,
      });
  }
}
