/**
 * The side of a command that asks a running Computer of the same user.
 *
 * @module
 */
import { connect, type Socket } from "node:net";
import { withTimeout } from "../../shared/async.ts";
import { dropStale, type Entry, listEntries } from "./entries.ts";
import { JsonLines } from "./lines.ts";
import {
  type ComputerPlace,
  type ControlCommand,
  type ControlRequest,
  type ControlResults,
  type PairingEvent,
  REPLY,
  RESULT_BYTES,
  RESULTS,
} from "./messages.ts";

/** Which of the running Computers is meant. */
export interface ComputerChoice {
  /** Its name. */
  readonly name?: string | undefined;
  /** Its office. */
  readonly office?: string | undefined;
}

/** How long a Computer may take to say where it is. */
const WHERE_TIMEOUT_MS = 5_000;

/** A running Computer that a command has reached. */
export class RunningComputer {
  /** Where it is. */
  readonly place: ComputerPlace;
  readonly #lines: JsonLines;

  private constructor(place: ComputerPlace, lines: JsonLines) {
    this.place = place;
    this.#lines = lines;
  }

  /**
   * Finds the Computer that is meant.
   *
   * @param folder of running Computers
   * @param howToStart a command that starts one
   * @throws {Error} when none or several fit, with what to do
   */
  static async find(
    choice: ComputerChoice,
    folder: string,
    howToStart: string,
  ): Promise<RunningComputer> {
    const running = await RunningComputer.#all(folder);
    const fitting = running.filter(({ place }) => fits(place, choice));
    const [only] = fitting;
    for (const other of running) {
      if (other !== only || fitting.length > 1) other.close();
    }
    if (only === undefined) throw noneError(running, howToStart);
    if (fitting.length === 1) return only;
    throw new Error(
      `several Computers run here; name one by --name or --office: ${
        fitting.map(placeText).join("; ")
      }`,
    );
  }

  static async #all(folder: string): Promise<RunningComputer[]> {
    const entries = await listEntries(folder);
    const found = await Promise.all(entries.map(async (entry) => {
      const socket = await reach(entry);
      if (socket === undefined) return [];
      const lines = new JsonLines(socket, RESULT_BYTES);
      lines.send({ token: entry.token });
      const place = await withTimeout(
        WHERE_TIMEOUT_MS,
        () => ask(lines, { command: "where" }),
      ).catch(() => undefined); // stopped, or of another version
      if (place !== undefined) return [new RunningComputer(place, lines)];
      socket.destroy();
      return [];
    }));
    return found.flat();
  }

  /**
   * Asks.
   *
   * @throws {Error} the Computer's error, or that it has ended
   */
  request<C extends Exclude<ControlCommand, "pair">>(
    request: Extract<ControlRequest, { readonly command: C }>,
  ): Promise<ControlResults[C]> {
    return ask(this.#lines, request);
  }

  /**
   * Pairs a device.
   *
   * @param show gets what happens
   * @throws {Error} the Computer's error, or that it has ended
   */
  pair(
    page: string | undefined,
    show: (event: PairingEvent) => void,
  ): Promise<ControlResults["pair"]> {
    const named = page !== undefined && { page };
    return ask(this.#lines, { command: "pair", ...named }, show);
  }

  /** Sends the digits that a person has typed, during a pairing. */
  sendDigits(digits: string): void {
    this.#lines.send({ digits });
  }

  /** Ends the connection. */
  close(): void {
    this.#lines.close();
  }
}

/** Connects to a Computer; undefined where none listens. */
async function reach(entry: Entry): Promise<Socket | undefined> {
  const socket = connect(entry.socket);
  try {
    await withTimeout(
      WHERE_TIMEOUT_MS,
      () =>
        new Promise<void>((resolve, reject) => {
          socket.once("connect", resolve);
          socket.once("error", reject);
        }),
    );
    return socket;
  } catch (error) {
    socket.destroy();
    const { code } = Object(error);
    if (code === "ECONNREFUSED" || code === "ENOENT") dropStale(entry);
    return undefined;
  }
}

async function ask<C extends ControlCommand>(
  lines: JsonLines,
  request: Extract<ControlRequest, { readonly command: C }>,
  show: (event: PairingEvent) => void = () => {},
): Promise<ControlResults[C]> {
  lines.send(request);
  for (;;) {
    const line = await lines.next();
    if (line === undefined) throw new Error("the Computer has ended");
    const reply = REPLY.safeParse(line).data;
    if (reply === undefined) throw otherVersion();
    if ("event" in reply) {
      show(reply);
      continue;
    }
    if ("error" in reply) throw new Error(reply.error);
    const form = RESULTS[request.command];
    const result = form.safeParse(reply.result);
    if (result.success) return result.data;
    throw otherVersion();
  }
}

const otherVersion = (): Error =>
  new Error(
    "the running Computer answers in a form that this command does not know: it has another version; start it again",
  );

const fits = (place: ComputerPlace, { name, office }: ComputerChoice) =>
  (name === undefined || place.name === name) &&
  (office === undefined || place.office === office);

const placeText = (
  { place: { name, office, url, pid } }: RunningComputer,
): string =>
  `${JSON.stringify(name)} in office ${
    JSON.stringify(office ?? "none")
  } at ${url} (process ${pid})`;

function noneError(
  running: readonly RunningComputer[],
  howToStart: string,
): Error {
  return new Error(
    running.length === 0
      ? `no Computer runs here as this user; start one: ${howToStart}`
      : `no Computer of that name and office runs here; there is ${
        running.map(placeText).join("; ")
      }`,
  );
}
