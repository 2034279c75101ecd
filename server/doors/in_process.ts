/**
 * The door for clients of this process: each gets two ends, and messages pass between them as copies, in
 * order, and never before the function that sends them has returned.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import {
  type Profile,
  PROFILES,
  type ProtocolName,
} from "../../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../../shared/in_process.ts";
import {
  OfficeClient,
  type OfficeClientParts,
} from "../office/office_client.ts";
import type { Answer, Forget, Peer } from "../office/peer.ts";
import {
  isParsedAtOnce,
  parseInSlices,
  Payload,
  shuttingDown,
  unauthorized,
} from "../shared/payload.ts";
import { type Identity, IDENTITY_NAMES } from "../shared/identity.ts";
import type { NamesOf } from "../../shared/checks.ts";
import type { CallSource } from "../../shared/gateway.ts";
import { copyAsJson } from "../../shared/json/copy.ts";
import {
  keepWritten,
  MIN_WRITTEN_BYTES,
  passWritten,
} from "../../shared/json/written.ts";
import { Pace } from "../../shared/pace.ts";
import { atTime } from "./expiry.ts";

/** Options of `SmcpServer.connect()`. */
export interface ConnectOptions {
  /** The protocol version that the client speaks, whichever the server lets in; default `"0.4"`. */
  readonly protocol?: InProcessConnection["protocol"] | undefined;
  /**
   * Who the client is, and what it may join as; default: without a name, as anything. The server's
   * authenticator is not asked, since the program itself vouches for the client.
   */
  readonly identity?: Identity | undefined;
}

/** The names of {@linkcode ConnectOptions}. */
export const CONNECT_NAMES = {
  protocol: true,
  identity: IDENTITY_NAMES,
} satisfies NamesOf<ConnectOptions>;

/** Options of {@linkcode InProcessDoor.offer}. */
export interface OfferOptions extends ConnectOptions {
  /** Finds the sender of the request with a `req_id` in the name of the client. */
  readonly callerOf?: ((reqId: string) => CallSource | undefined) | undefined;
}

/** A client of this process, and what its handshake would have shown. */
export type InProcessGuest = InProcessClient & OfferOptions & {
  readonly protocol: ProtocolName;
};

/** The versions that clients of this process speak: those with a handshake. */
const PROTOCOLS: readonly unknown[] = PROTOCOL_NAMES.filter((name) =>
  PROFILES[name].handshake
);

/** Shown to operators in place of a network address. */
const ADDRESS = "in process";
/** How many batches of messages run before timers and sockets get their turn. */
const BATCHES_PER_TURN = 200;

/**
 * Where clients of this process connect, without a socket: with the order, the rules and the identity of
 * any other connection.
 *
 * Each message is copied once, as JSON would carry it, so that neither side sees changes of the other's
 * objects. None arrives before the function that sends it has returned.
 */
export class InProcessDoor {
  /** What the connections of all doors work with. */
  readonly parts: OfficeClientParts;
  /** The messages of all connections. */
  readonly queue = new MessageQueue();
  /** The open connections. */
  readonly open = new Set<Guest>();
  #isClosed = false;

  constructor(parts: OfficeClientParts) {
    this.parts = parts;
  }

  /**
   * Makes what a client takes in place of a URL, and opens as often as it needs.
   *
   * @param server how it describes the server
   * @throws {TypeError} naming the option that cannot be used
   * @throws {ProtocolError} 500 when the server is shutting down
   */
  offer(
    { protocol = "0.4", identity, callerOf }: OfferOptions,
    server: Pick<InProcessConnection, "url" | "maxPayload">,
  ): InProcessConnection {
    if (!PROTOCOLS.includes(protocol)) {
      const name = JSON.stringify(protocol);
      throw new TypeError(
        `Cannot connect with the protocol ${name}: expected "0.2", "0.3" or "0.4"`,
      );
    }
    if (identity !== undefined && !identity.principal) {
      throw new TypeError(
        'Cannot connect with an identity without principal: expected { principal: "NAME" }, with a policy if it is to be restricted',
      );
    }
    if (this.isClosed) throw shuttingDown();
    return {
      ...server,
      protocol,
      open: (client, end) =>
        this.connect({ ...client, protocol, identity, callerOf }, end),
    };
  }

  /** Whether it opens no more connections. */
  get isClosed(): boolean {
    return this.#isClosed || this.parts.offices.isClosed;
  }

  /**
   * Opens a connection.
   *
   * @throws {ProtocolError} 500 when the server is shutting down, 401 when the identity has expired
   */
  connect(guest: InProcessGuest, end: ClientEnd): ServerEnd {
    if (this.isClosed) throw shuttingDown();
    const { expiresAt = Infinity } = guest.identity ?? {};
    if (expiresAt <= this.parts.clock.date()) throw unauthorized();
    const peer = new Guest(guest, end, this);
    this.open.add(peer);
    return {
      id: peer.id,
      send: (...message) => peer.receive(...message),
      close: () => peer.leave(),
    };
  }

  /** Closes all connections, and opens no more. */
  close(reason: string): void {
    this.#isClosed = true;
    for (const peer of this.open) peer.end(reason, false);
  }
}

/** A client of this process, as offices see it. */
class Guest implements Peer {
  readonly id: string = crypto.randomUUID();
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address = ADDRESS;
  /** Replaced while an event is handled that is sent in the name of a caller. */
  identity: Identity | undefined;
  readonly connection: OfficeClient;
  readonly #client: InProcessGuest;
  readonly #end: ClientEnd;
  readonly #door: InProcessDoor;
  /** What it gets. */
  readonly #inbox: Inbox;
  readonly #stopTimer: () => void;

  constructor(client: InProcessGuest, end: ClientEnd, door: InProcessDoor) {
    const { protocol, identity, instance, role } = client;
    this.profile = PROFILES[protocol];
    this.version = this.profile.version;
    this.instance = instance;
    this.identity = identity;
    this.#client = client;
    this.#end = end;
    this.#door = door;
    this.#inbox = new Inbox((run) => this.#deliver(run));
    this.connection = new OfficeClient(this, door.parts, role);
    const expire = () => this.end("its credentials expired", false);
    this.#stopTimer = atTime(identity?.expiresAt ?? Infinity, expire);
  }

  /** Runs a function in the order of all messages, unless the connection is closed by then. */
  #deliver(run: () => void): void {
    const { queue, open } = this.#door;
    queue.add(() => {
      if (open.has(this)) run();
    });
  }

  send(event: string, payload: Payload): void {
    // All members get the same object.
    this.#inbox.take(
      payload,
      (value) => this.#end.receive(event, copyAsJson(value)),
    );
  }

  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget {
    let isWaiting = true;
    const answer = (value?: unknown) => {
      const copy = copyAsJson(value);
      passWritten(value, copy);
      this.#deliver(() => {
        if (!isWaiting) return;
        isWaiting = false;
        answered(copy === undefined ? undefined : Payload.of(copy));
      });
    };
    this.#inbox.take(
      payload,
      (value) => this.#end.receive(event, value, answer),
    );
    return () => isWaiting = false;
  }

  end(reason: string, isReplaced: boolean): void {
    this.#inbox.after(() =>
      this.#deliver(() => {
        this.#close();
        this.#end.closed(reason, isReplaced || this.#door.isClosed);
      })
    );
  }

  /** Takes an event of the client. */
  receive(
    event: string,
    payload: unknown,
    answered?: (args: readonly unknown[]) => void,
  ): void {
    const copy = Payload.of(copyAsJson(payload));
    const ack = answered && ((answer: Answer | undefined) => {
      if (answer === undefined) return;
      if (answer instanceof Payload) {
        this.#inbox.take(answer, (value) => {
          keepText(answer, value);
          answered([value]);
        });
      } else this.#inbox.after(() => this.#deliver(() => answered(answer)));
    });
    this.#deliver(() => {
      const { identity, callerOf } = this.#client;
      const caller = callerOf?.(Object(copy.peek()).req_id);
      if (caller && identity) this.identity = { ...identity, caller };
      this.connection.receive(event, copy, ack);
      this.identity = identity;
    });
  }

  /** Closes the connection after all that the client has sent. */
  leave(): Promise<void> {
    return new Promise((resolve) =>
      this.#door.queue.add(() => {
        this.#close();
        resolve();
      })
    );
  }

  #close(): void {
    if (!this.#door.open.delete(this)) return;
    this.#stopTimer();
    this.#inbox.end();
    this.connection.gone();
  }
}

/** Keeps the text of a long answer beside its value: an office over MCP sends that on as it came. */
function keepText(answer: Payload, value: unknown): void {
  const { size = 0, values } = answer;
  if (size < MIN_WRITTEN_BYTES || values === undefined) return;
  const json = answer.json();
  if (json === undefined) return;
  // A copy, since buffers of the wire are freed when they were sent.
  const bytes = new Uint8Array(json.bytes.subarray(json.start, json.end));
  keepWritten(Object(value), bytes, () => values);
}

/**
 * Runs functions later, in order: before timers and sockets get their turn, as a rule. But two clients
 * that answer each other without end must not keep them waiting.
 */
class MessageQueue {
  #waiting: (() => void)[] = [];
  #batches = 0;

  add(run: () => void): void {
    if (this.#waiting.push(run) > 1) return;
    if (++this.#batches % BATCHES_PER_TURN === 0) setImmediate(this.#run);
    else queueMicrotask(this.#run);
  }

  readonly #run = () => {
    const batch = this.#waiting;
    this.#waiting = [];
    for (const run of batch) run();
  };
}

/**
 * What a client gets, in order: a long text is parsed in pieces, so that others get their turn meanwhile,
 * and what follows it waits.
 */
class Inbox {
  readonly #deliver: (run: () => void) => void;
  /** Settles when all is delivered that waits; absent where nothing does. */
  #last: Promise<void> | undefined;
  readonly #gone = new AbortController();

  constructor(deliver: (run: () => void) => void) {
    this.#deliver = deliver;
  }

  /** Delivers the value of a payload. */
  take(payload: Payload, run: (value: unknown) => void): void {
    if (isParsedAtOnce(payload)) {
      const parseAndRun = () => run(payload.parse());
      if (this.#last === undefined) return this.#deliver(parseAndRun);
      return this.#wait(() => this.#deliver(parseAndRun));
    }
    this.#wait(async () => {
      const pace = new Pace(this.#gone.signal);
      await pace.turn(); // its sender was read in this one
      const value = await parseInSlices(payload, pace);
      this.#deliver(() => run(value));
    });
  }

  /** Parses nothing more: the client is gone. */
  end(): void {
    this.#gone.abort();
  }

  /** Runs a function after all that waits, immediately where nothing does. */
  after(run: () => void): void {
    if (this.#last === undefined) run();
    else this.#wait(run);
  }

  #wait(run: () => void | Promise<void>): void {
    const last = (this.#last ?? Promise.resolve()).then(run).catch((error) => {
      if (!this.#gone.signal.aborted) throw error;
    });
    this.#last = last;
    void last.then(() => {
      if (this.#last === last) this.#last = undefined;
    });
  }
}
