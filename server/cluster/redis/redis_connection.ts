/**
 * One connection to one server of Redis, over the package `redis`: commands with a deadline, a
 * subscription, a sign of life each second, and errors that name the problem and the place.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import type { createClient, RedisClientOptions } from "redis";
import { connect, type ConnectionOptions } from "node:tls";
import { createHash } from "node:crypto";
import {
  type Address,
  type RedisTarget,
  type RedisTls,
  written,
} from "./url.ts";
import { type Deadline, Deadlines } from "../../../shared/deadlines.ts";
import { withTimeout } from "../../../shared/async.ts";
import { loadPackages } from "../../../shared/packages.ts";

/** A script of Redis, as text. */
export interface Script {
  /** The Lua code. */
  readonly source: string;
  /** Its SHA-1, by which Redis finds it after the first call. */
  readonly sha: string;
}

/** Makes a script of its text. */
export const newScript = (source: string): Script => ({
  source,
  sha: createHash("sha1").update(source).digest("hex"),
});

/** What a script answers: strings, whole numbers, and lists of them. */
export type Reply = string | number | null | readonly Reply[];

/** There is no connection to the server that is needed: nothing was sent. */
export class NotConnectedError extends Error {}

/** A connection of the package `redis`. */
type Client = ReturnType<typeof createClient>;

/** The package `redis`, an optional peer. */
export interface Library {
  /** Creates a client that is not connected yet. */
  readonly createClient: typeof createClient;
}

/**
 * Loads the package `redis`, which only a cluster needs.
 *
 * @throws {Error} when it is not installed, or is another major version
 */
export async function loadLibrary(): Promise<Library> {
  const task = "join a cluster";
  const load = () => import("redis");
  return requireVersion6(await loadPackages(task, ["redis@6"], load), task);
}

/**
 * Checks the version of the package: older ones have other names and another protocol, and would fail
 * later and less clearly.
 *
 * @throws {Error} for another major version
 */
export function requireVersion6<T extends object>(library: T, task: string): T {
  if ("DEFAULT_RESP" in library && library.DEFAULT_RESP === 3) return library;
  throw new Error(
    `Cannot ${task}: the package redis is not of version 6; install it: npm install redis@6`,
  );
}

/** How to connect, wherever it is. */
export interface DialSettings extends RedisTarget {
  readonly library: Library;
  readonly certificates: RedisTls | undefined;
}

/** How long the network may take; a host that is down must not hold up the next. */
const CONNECT_TIMEOUT_MS = 2000;

/** How long all takes, with TLS, the password and the database. */
const HANDSHAKE_TIMEOUT_MS = 3000;

/** How long an answer may take until it counts as missing. */
const ANSWER_TIMEOUT_MS = 1000;

/** So many checks in a row without an answer: the connection is given up. */
const MOST_UNANSWERED = 5;

/**
 * One connection to one server.
 *
 * The clients of the package for sentinels and for a Redis Cluster repeat what has failed, also what may
 * have been done, and let commands wait for a connection. Here each failure is reported once, and the caller
 * decides where to connect again.
 */
export class RedisConnection {
  /** Its address, for people and as a key. */
  readonly place: string;
  /** When it was made, in milliseconds of `performance.now()`. */
  readonly since: number = performance.now();
  readonly #client: Client;
  readonly #deadlines = new Deadlines();
  #unanswered = 0;

  private constructor(address: Address, client: Client) {
    this.place = written(address);
    this.#client = client;
  }

  /**
   * Connects.
   *
   * @param onLost is called when the connection has ended by itself, unless `isReady` was false already
   * @throws {Error} that names the problem and the place
   */
  static async open(
    settings: DialSettings,
    address: Address,
    onLost: (reason: Error) => void,
  ): Promise<RedisConnection> {
    const { library, tls, certificates, credentials, database } = settings;
    const endpoint = { ...address, ...certificates };
    const client: Client = library.createClient({
      socket: {
        ...endpoint,
        tls,
        connectTimeout: CONNECT_TIMEOUT_MS,
        reconnectStrategy: false,
      } as NonNullable<RedisClientOptions["socket"]>,
      ...credentials,
      database,
      // Both only cost rights of the access list, and a round trip.
      disableClientInfo: true,
      maintNotifications: "disabled",
      disableOfflineQueue: true,
      // It would end only what was not sent yet, with a timer for each command.
      commandOptions: { timeout: 0 },
    });
    const explained = (error: unknown) => explain(error, written(address), tls);
    client.on("error", () => {}); // without a listener it would end the process
    try {
      if (tls) await probeTls(endpoint);
      await withTimeout(HANDSHAKE_TIMEOUT_MS, () => client.connect(), {
        error: () => new Error("it does not answer in time"),
      });
    } catch (error) {
      client.destroy();
      throw explained(error);
    }
    client.once("terminated", (error) => onLost(explained(error)));
    return new RedisConnection(address, client);
  }

  /** Whether it stands. */
  get isReady(): boolean {
    return this.#client.isReady;
  }

  /** Sends a request, and waits for a bounded time: one timer watches all, as they may be thousands. */
  ask(command: readonly string[]): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const now = performance.now();
    const expire = () => reject(this.#noAnswer());
    const waiting: Deadline = { due: now + ANSWER_TIMEOUT_MS, expire };
    this.#deadlines.add(waiting, now);
    this.#client.sendCommand<Reply>(command)
      .finally(() => this.#deadlines.remove(waiting))
      .then(resolve, reject);
    return promise;
  }

  /** Sends a message to a channel, without a time limit; returns how many have received it. */
  publish(
    command: "PUBLISH" | "SPUBLISH",
    channel: string,
    message: Buffer,
  ): Promise<number> {
    return this.#client.sendCommand<number>([command, channel, message]);
  }

  /**
   * Subscribes to a channel, and waits for a bounded time.
   *
   * @param moved is called when a Redis Cluster gives the channel to another server
   */
  async subscribe(
    channel: string,
    receive: (message: Buffer) => void,
    sharded: boolean,
    moved: (reason: Error) => void,
  ): Promise<void> {
    this.#client.once("sharded-channel-moved", () => {
      moved(new Error(`Redis at ${this.place} has given ${channel} away`));
    });
    const subscribe = () =>
      sharded
        ? this.#client.sSubscribe(channel, receive, true)
        : this.#client.subscribe(channel, receive, true);
    await withTimeout(ANSWER_TIMEOUT_MS, subscribe, {
      error: () => this.#noAnswer(),
    });
  }

  /**
   * Checks that this server takes writes.
   *
   * @throws {Error} when it does not, or does not answer
   */
  async requireMaster(): Promise<void> {
    if (!isMaster(await this.ask(["ROLE"]))) throw this.#replica();
  }

  /**
   * Asks for a sign of life, and calls back when there was none for a while, or it is a replica now.
   *
   * It counts questions, not time: a process that was frozen finds the answers only after its timers, and
   * the package's own time limit of a socket restarts with each write.
   */
  check(isFixed: boolean, lose: (reason: Error) => void): void {
    if (this.#unanswered >= MOST_UNANSWERED) return lose(this.#noAnswer());
    if (this.#unanswered++ > 0) return;
    this.#client.sendCommand<Reply>([isFixed ? "PING" : "ROLE"]).then(
      (reply) => {
        this.#unanswered = 0;
        if (!isFixed && !isMaster(reply)) lose(this.#replica());
      },
      () => this.#unanswered = 0, // a loss is reported by itself
    );
  }

  /** Ends the connection. */
  end(): void {
    this.#client.destroy();
    this.#deadlines.clear();
  }

  #noAnswer(): Error {
    return new Error(`Redis at ${this.place} does not answer in time`);
  }

  #replica(): Error {
    return new Error(`Redis at ${this.place} is a replica now`);
  }
}

const isMaster = (role: Reply): boolean =>
  Array.isArray(role) && role[0] === "master";

/**
 * Makes a connection with TLS, and waits for the first answer.
 *
 * The package `redis` listens for errors a moment after the handshake. In Deno the refusal of a client
 * certificate, which TLS 1.3 sends after the handshake, comes before that, and would end the process.
 * So a server that refuses is met here first.
 *
 * @throws {Error} the error of the server, or of the check of its certificate
 */
async function probeTls(endpoint: ConnectionOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(endpoint);
  // Any answer of Redis is enough.
  socket.once("secureConnect", () => socket.write("PING\r\n"));
  socket.once("data", () => resolve());
  socket.on("error", reject);
  const fail = (reason: string) => () => reject(new Error(reason));
  socket.once("close", fail("Socket closed unexpectedly"));
  socket.setTimeout(CONNECT_TIMEOUT_MS, fail("Connection timeout"));
  await promise.finally(() => socket.destroy());
}

/** Refusals, with the problem that a message names in place of "cannot reach". */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS|^ERR AUTH/, "refuses the user and password of the URL: "],
  [
    /^NOAUTH/,
    "needs a password: write it into the URL, as in redis://user:password@host: ",
  ],
  [/unknown command.*HELLO/i, "is too old: version 6.2 or later is needed: "],
];

function explain(cause: unknown, place: string, tls: boolean): Error {
  const at = `Redis at ${place}`;
  const reason = reasonOf(cause);
  const [, refusal] = REFUSALS.find(([sign]) => sign.test(reason)) ?? [];
  if (refusal) return new Error(`${at} ${refusal}${reason}`, { cause });
  const hint =
    /closed unexpectedly|ECONNRESET|timed? ?out|in time/i.test(reason)
      ? tls
        ? " (if it has no TLS, the URL begins with redis://)"
        : " (if it needs TLS, the URL begins with rediss://)"
      : /ECONNREFUSED|ENOTFOUND/.test(reason)
      ? " (check that it runs there, and the URL)"
      : "";
  return new Error(`Cannot reach ${at}: ${reason}${hint}`, { cause });
}

/** Names several addresses of one host, which Node reports in parts. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") {
    return error.errors.map(String).join("; ");
  }
  return error instanceof Error && error.message || String(error);
}
