import type { Buffer } from "node:buffer";
import type { ProtocolName } from "../../../protocol/mod.ts";
import { computerDisconnected } from "../../relay/relay_rule.ts";
import type {
  Desk,
  Exchange,
  RemoteCall,
  RemoteCallEvents,
} from "../../offices/exchange.ts";
import { failure, log } from "../../shared/log.ts";
import type { Seat } from "../../shared/member.ts";
import type { Payload } from "../../wire/mod.ts";
import type { Seated } from "../directory/directory.ts";
import {
  decodeMessage,
  encodeMessage,
  type NodeMessage,
  type Of,
  type Received,
  toldSeat,
} from "./messages.ts";
import { Questions } from "./questions.ts";
import {
  clusterAway,
  nodeBusy,
  nodeUnreachable,
  RemoteCalls,
} from "./remote_calls.ts";
import { Rereading } from "./rereading.ts";
import { ServedCalls } from "./served_calls.ts";
import type {
  SwitchboardCounts,
  SwitchboardParts,
} from "./switchboard_parts.ts";

/** Connects the offices of this node with those of the others: calls, answers, notifications. */
export class Switchboard {
  /** What nodes ask each other for those who operate them. */
  readonly questions: Questions = new Questions({
    peers: () => this.#parts.links().peers,
    maxMessageBytes: () => this.#parts.links().maxMessageBytes,
    send: (node, stream, message) => this.#send(node, stream, message),
  });
  readonly #parts: SwitchboardParts;
  readonly #desks = new Map<ProtocolName, Desk>();
  readonly #calls = new RemoteCalls();
  readonly #served = new ServedCalls();
  readonly #rereading = new Rereading(
    () => this.reload(),
    (node) => this.#desks.forEach((desk) => desk.refresh(node)),
  );
  #isConnected = true;
  #callsOut = 0;
  #callsIn = 0;

  constructor(parts: SwitchboardParts) {
    this.#parts = parts;
  }

  /** What passed so far. */
  get counts(): SwitchboardCounts {
    return {
      callsOut: this.#callsOut,
      callsIn: this.#callsIn,
      callsOpen: this.#calls.size,
    };
  }

  /** Connects the offices of one protocol version; to be called once for each. */
  exchange(protocol: ProtocolName, desk: Desk): Exchange {
    this.#desks.set(protocol, desk);
    const { directory, isServing } = this.#parts;
    const registry = () => directory().registry(protocol);
    const tell = (kind: "enter" | "leave", seat: Seat, from: string) =>
      this.#tellAll(from, { kind, protocol, seat: toldSeat(seat) });
    return {
      get node() {
        return directory().node;
      },
      registry: {
        claim: (...claim) => registry().claim(...claim),
        release: (member) => registry().release(member),
        list: (office) => registry().list(office),
      },
      isServing: () => isServing(),
      call: (node, call, events) =>
        this.#call(protocol, { node, ...call }, events),
      notify: ({ except, ...notice }) =>
        this.#tellAll(notice.from, {
          kind: "notice",
          protocol,
          ...notice,
          ...(except !== undefined && { except }),
        }),
      entered: (seat) => tell("enter", seat, seat.socket),
      left: (seat, from) => tell("leave", seat, from),
      evict: (seat, from) => {
        const message: NodeMessage = {
          kind: "evict",
          protocol,
          seat: toldSeat(seat),
        };
        if (seat.node !== undefined) this.#send(seat.node, from, message);
      },
    };
  }

  /** Handles a message of another node; never throws. */
  received(from: string, bytes: Buffer): void {
    try {
      this.#take(from, decodeMessage(bytes));
    } catch (error) {
      log.error("Cannot handle a message of the node {node}", {
        node: from,
        ...failure(error),
      });
    }
  }

  /** Messages from or to a node may be missing: its calls end, and what they told is asked again. */
  lost(node: string): void {
    this.questions.end(node);
    this.#calls.end(node, nodeUnreachable);
    this.#served.forget(node);
    this.#rereading.add(node);
  }

  /** Redis answers: tries again to ask what could not be asked. */
  retry(): void {
    this.#rereading.retry();
  }

  /** A node was not heard of for a while: nobody should wait for it. */
  silent(node: string): void {
    this.questions.end(node);
    this.#calls.end(node, computerDisconnected);
  }

  /** The process of a node has ended. */
  gone(node: string): void {
    this.questions.end(node);
    this.#calls.end(node, computerDisconnected);
    this.#served.forget(node);
  }

  /** What connects the nodes was reached no more, or is reached again. */
  connected(isConnected: boolean): void {
    this.#isConnected = isConnected;
    if (isConnected) return;
    this.questions.end();
    this.#calls.end(undefined, clusterAway);
    this.#served.clear();
  }

  /** Tells everybody of members whose node has ended. */
  left(seats: readonly Seated<Seat>[]): void {
    for (const { protocol, member: seat } of seats) {
      this.#desks.get(protocol)?.lost(seat, "its server has ended");
      this.#tellAll(seat.socket, {
        kind: "leave",
        protocol,
        seat: toldSeat(seat),
      });
    }
  }

  /** Returns the members with a connection here. */
  seats(): Seated<Seat>[] {
    return [...this.#desks].flatMap(([protocol, desk]) =>
      desk.members().map((member) => ({ protocol, member }))
    );
  }

  /** Disconnects a member here whose seat somebody else has. */
  evict({ protocol, member }: Seated<Seat>): void {
    this.#desks.get(protocol)?.evict(member);
  }

  /** Closes the connections of all clients and forgets the members; other nodes hear nothing. */
  fence(reason: string): void {
    this.questions.end();
    this.#served.clear();
    this.#rereading.clear();
    for (const desk of this.#desks.values()) desk.fence(reason);
  }

  /** Compares all offices with the directory; rejects when it cannot be asked. */
  async reload(): Promise<void> {
    await Promise.all([...this.#desks.values()].map((desk) => desk.reload()));
  }

  #call(
    protocol: ProtocolName,
    { node, ...call }: RemoteCall & { readonly node: string },
    events: RemoteCallEvents,
  ): () => void {
    const { office, computer, socket: to, from, event, payload, reqId } = call;
    const id = this.#calls.add(node, computer, events);
    const sent = this.#parts.links().send(
      node,
      from,
      encodeMessage({
        kind: "call",
        id,
        protocol,
        office,
        computer,
        to,
        from,
        event,
        ...(reqId !== undefined && { reqId }),
      }, payload),
    );
    this.#callsOut++;
    if (sent !== "sent") {
      const error = sent === "full"
        ? nodeBusy(computer)
        : (this.#isConnected ? nodeUnreachable : clusterAway)(computer);
      queueMicrotask(() => this.#calls.take(id, node)?.failed(error));
    }
    return () => {
      if (!this.#calls.take(id, node)) return;
      this.#send(node, from, { kind: "forget", id });
    };
  }

  #take(from: string, { message, payload }: Received): void {
    switch (message.kind) {
      case "call":
        return this.#serve(from, message, payload());
      case "answer":
        return this.#calls.take(message.id, from)?.answered(payload());
      case "maybe":
        return this.#calls.find(message.id, from)?.provisional(payload());
      case "fail":
        return this.#calls.take(message.id, from)?.failed(message.error);
      case "progress":
        return this.#calls.find(message.id, from)?.progress(message.told);
      case "forget":
        return this.#served.take(from, message.id)?.();
      case "question":
      case "reply":
        return this.questions.take(from, message);
      case "notice": {
        const { protocol, except, ...notice } = message;
        return this.#desks.get(protocol)?.notify({ ...notice, except });
      }
      default: // the kinds of a newer version are not for this one
        this.#changed(message);
    }
  }

  #changed({ kind, protocol, seat: told }: Of<"enter" | "leave" | "evict">) {
    const desk = this.#desks.get(protocol);
    const seat = { ...told, instance: undefined };
    if (kind === "enter") desk?.entered(seat);
    else if (kind === "leave") desk?.left(seat);
    else if (kind === "evict") desk?.evict(seat);
  }

  /** Has a Computer here answer a call of another node's Agent. */
  #serve(
    node: string,
    call: Of<"call">,
    payload: Payload | undefined,
  ): void {
    const desk = this.#desks.get(call.protocol);
    if (desk === undefined || payload === undefined) return;
    this.#callsIn++;
    // Answers leave in the order of the Computer's own messages.
    this.#served.serve(
      desk,
      node,
      call,
      payload,
      (message, payload) => this.#send(node, call.to, message, payload),
    );
  }

  #tellAll(from: string, message: NodeMessage): void {
    const { peers } = this.#parts.links();
    if (peers.size === 0) return;
    for (const node of peers) this.#send(node, from, message);
  }

  #send(
    node: string,
    stream: string,
    message: NodeMessage,
    payload?: Payload,
  ): boolean {
    return this.#parts.links().send(
      node,
      stream,
      encodeMessage(message, payload),
    ) === "sent";
  }
}
