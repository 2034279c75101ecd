import {
  type AgentCallData,
  CLIENT_EVENTS,
  type ClientEvent,
  namesOf,
  type Profile,
  type Role,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../protocol/mod.ts";
import { errorPayloadOf, shuttingDown } from "../shared/error_payload.ts";
import { sendRequest, type SentRequest } from "./send_request.ts";
import { removeItem } from "../shared/swap_remove.ts";
import {
  AGENT_GONE,
  type CallEnd,
  TIMEOUT_OF_SERVER,
} from "../shared/call_end.ts";
import { Deadlines } from "../shared/deadlines.ts";
import { partyOf } from "../shared/audit.ts";
import { checkAccess, notInOffice } from "./access_rule.ts";
import { following } from "./progress.ts";
import { noteWaiting } from "../observe/watch_calls.ts";
import type { Journal } from "../shared/journal.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { CallObserver, ObservedCall } from "../observe/call_observer.ts";
import { endOf } from "../shared/call_end.ts";
import type {
  Exchange,
  RemoteCall,
  RemoteCallEvents,
} from "../offices/exchange.ts";
import type { Rosters } from "../offices/rosters.ts";
import { noteFailure, replying } from "./note_failure.ts";
import { tellOtherName } from "./other_name.ts";
import type { LinkedSession } from "./linked_session.ts";
import { serveCall } from "./serve_call.ts";
import { type Elsewhere, sendToNode } from "./send_to_node.ts";
import {
  answerDeadline,
  answerTimedOut,
  asOfSeat,
  computerDisconnected,
  computerNotFound,
  readAnswer,
} from "./relay_rule.ts";
import type { PendingCall, Session } from "../shared/session.ts";
import { Payload } from "../wire/mod.ts";

/** Relays requests from Agents to Computers, and the answers back (spec §7). */
export class Relay {
  readonly #rosters: Rosters;
  readonly #exchange: Exchange | undefined;
  readonly #look: ((office: string) => Promise<void>) | undefined;
  readonly #sessions: ReadonlyMap<string, LinkedSession>;
  readonly #profile: Profile;
  readonly #requestTimeoutMs: number;
  readonly #observer: CallObserver;
  readonly #limiter: Limiter;
  readonly #journal: Journal;
  readonly #calls = new Deadlines<PendingCall>();
  /** The calls that other nodes brought to Computers here. */
  readonly #served = new Set<PendingCall>();
  #idle: (() => void) | undefined;
  #closed = false;
  /** The calls that were sent so far. */
  sent = 0;

  /**
   * @param rosters know where Computers sit
   * @param exchange the other nodes, in a cluster
   * @param look makes the roster of an office that of the registry, in a cluster
   * @param sessions the connections of this server by Socket.IO id
   * @param profile the protocol version of the server
   * @param requestTimeoutMs how long to wait for requests without a timeout of their own
   * @param observer called for each request that passed its checks
   * @param journal notes what calls wait for
   * @param limiter limits the pending calls of an Agent
   */
  constructor(
    rosters: Rosters,
    exchange: Exchange | undefined,
    look: ((office: string) => Promise<void>) | undefined,
    sessions: ReadonlyMap<string, LinkedSession>,
    profile: Profile,
    requestTimeoutMs: number,
    { observer, journal }: {
      readonly observer: CallObserver;
      readonly journal: Journal;
    },
    limiter: Limiter,
  ) {
    this.#journal = journal;
    this.#rosters = rosters;
    this.#exchange = exchange;
    this.#look = look;
    this.#sessions = sessions;
    this.#profile = profile;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#observer = observer;
    this.#limiter = limiter;
  }

  /**
   * Checks a request and forwards it. Does not wait for the answer, so that later events (a cancel)
   * are handled meanwhile.
   *
   * @param payload forwarded unchanged, unless it names the Agent differently
   * @param answer called once; with `undefined` when the Agent is gone
   * @returns a promise if the request is not forwarded yet, otherwise `undefined`
   * @throws {ProtocolError} when the request is invalid, or its sender may not send it
   */
  forward(
    agent: Session,
    event: ClientEvent,
    payload: Payload,
    answer: (body: Payload | undefined, end: CallEnd) => void,
  ): Promise<void> | undefined {
    const request = CLIENT_EVENTS[event].parseRequest(payload.peek());
    // Members leave before their connections close: they are told why, and not that they never joined.
    if (this.#closed && agent.member === undefined) throw shuttingDown();
    const seat = checkAccess(
      agent.member,
      { role: "agent", name: request.agent },
      agent.identity?.policy,
    );
    if (request.agent !== seat.name) tellOtherName(agent, request.agent);
    const { computer } = request;
    const call: ObservedCall = {
      event,
      agent,
      seat,
      computer,
      payload: asOfSeat(seat, request, payload),
    };
    const reply = replying(answer, this.#observer(call), agent.record);
    const deadline = answerDeadline(
      event,
      "timeout" in request ? request.timeout : undefined,
      this.#requestTimeoutMs,
    );
    const failed = (error: unknown) => reply(Payload.of(errorPayloadOf(error)));
    const send = () => {
      if (agent.member !== seat) throw notInOffice();
      this.#checkCapacity(agent);
      this.#send(call, deadline, reply);
    };
    // It may have joined at another node, of which this one has not heard yet.
    if (this.#look && !this.#rosters.computer(seat.office, computer)) {
      return this.#look(seat.office).then(send).catch(failed);
    }
    try {
      send();
    } catch (error) {
      failed(error);
    }
  }

  /** Ends every call of a session that left its office; the Agent gets the reason, if it is still connected (spec §5). */
  end(session: Session, role: Role, gone: boolean): void {
    if (session.calls.length === 0) return;
    const error = role === "computer"
      ? computerDisconnected(session.member?.name ?? "")
      : gone
      ? undefined
      : notInOffice().toPayload();
    for (const call of [...session.calls]) {
      if (role === "computer") call.end(error);
      else call.end(error, call.stopped ?? AGENT_GONE);
    }
  }

  /**
   * Refuses new calls, waits for pending ones, and ends those that remain.
   *
   * @param milliseconds how long to wait at most
   */
  async drain(milliseconds: number): Promise<void> {
    this.#closed = true;
    const waiting = this.#calls.size + this.#served.size;
    if (waiting > 0 && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    for (const call of [...this.#calls, ...this.#served]) {
      call.end(shuttingDown().toPayload());
    }
    this.#calls.clear();
  }

  /** @throws {ProtocolError} when the Agent may not make another call now */
  #checkCapacity(agent: Session): void {
    if (this.#closed) throw shuttingDown();
    if (agent.calls.length >= this.#limiter.limits.callsPerAgent) {
      throw this.#limiter.refuse("callsPerAgent", partyOf(agent));
    }
  }

  /**
   * Handles a call that another node brings to a Computer here; its deadline is that node's.
   *
   * @returns a function that forgets it
   */
  serve(call: RemoteCall, events: RemoteCallEvents): () => void {
    const { office, computer: name, socket } = call;
    const computer = this.#seated(office, name, socket);
    if (computer === undefined || this.#closed) {
      const error = this.#closed ? shuttingDown() : computerNotFound(name);
      events.failed(error.toPayload());
      return () => {};
    }
    return serveCall(computer, call, namesOf(this.#profile, call.event), {
      ...events,
      began: (pending) => this.#served.add(pending),
      ended: (pending) => {
        this.#served.delete(pending);
        this.#checkIdle();
      },
    });
  }

  /** Returns the session of a seat, if its connection is open and holds it here. */
  #seated(
    office: string,
    computer: string,
    socket: string,
  ): LinkedSession | undefined {
    const session = this.#sessions.get(socket);
    return session?.socket.connected && session.member?.office === office &&
        session.member.name === computer
      ? session
      : undefined;
  }

  /** @throws {ProtocolError} when the Computer is not in the office */
  #target(office: string, name: string): LinkedSession | Elsewhere {
    const seat = this.#rosters.computer(office, name);
    const exchange = this.#exchange;
    if (seat && exchange && seat.node !== exchange.node) {
      return { exchange, seat };
    }
    const session = seat && this.#seated(office, name, seat.socket);
    if (session === undefined) throw computerNotFound(name);
    return session;
  }

  #checkIdle(): void {
    if (this.#calls.size === 0 && this.#served.size === 0) this.#idle?.();
  }

  /**
   * The closures that wait for the answer must not capture the request, or it stays in memory.
   *
   * @throws {ProtocolError} when the request cannot be forwarded
   */
  #send(
    request: ObservedCall,
    deadline: number,
    reply: (body: Payload | undefined, end?: CallEnd) => void,
  ): void {
    const { agent, event, seat, computer: name, payload } = request;
    const { office } = seat;
    const about = payload.peek() as AgentCallData & Partial<ToolCallReq>;
    const target = this.#target(office, name);
    const computer = "link" in target ? target : undefined;
    const finish = (
      body: Payload | undefined,
      how = endOf(body, call.stopped),
    ) => {
      this.#calls.remove(call);
      removeItem(agent.calls, call);
      if (computer) {
        removeItem(computer.calls, call);
        noteFailure(computer.record, "computer", how, body);
      }
      reply(body, how);
      this.#checkIdle();
    };
    const answered = (first: Payload | undefined) => {
      try {
        finish(readAnswer(first, event));
      } catch (error) {
        reply(Payload.of(errorPayloadOf(error))); // an answer that cannot be encoded again
      }
    };
    const end = (body: Payload | undefined, how?: CallEnd) => {
      sent.forget();
      finish(body, how);
    };
    const now = performance.now();
    const reqId = about.req_id;
    const follower = event === TOOL_CALL_EVENT
      ? following(
        { agent, seat, reqId, asked: about.progress },
        (waiting) => noteWaiting(this.#journal, { agent, seat, call, waiting }),
      )
      : undefined;
    const call: PendingCall = {
      follower,
      event,
      reqId,
      tool: about.tool_name,
      computer: name,
      began: now,
      due: now + deadline,
      end: (error, how) => end(error && Payload.of(error), how),
      expire: () => {
        const best = sent.best();
        if (best !== undefined) return end(readAnswer(best, event));
        end(
          Payload.of(answerTimedOut(name, deadline)),
          call.stopped ?? TIMEOUT_OF_SERVER,
        );
      },
    };
    const sent: SentRequest = "link" in target
      ? sendRequest(
        target.link,
        namesOf(this.#profile, event),
        payload,
        answered,
      )
      : sendToNode(target, request, { follower, answered, failed: call.end });
    this.sent++;
    this.#calls.add(call, now);
    agent.calls.push(call);
    agent.record.calls++;
    if (computer === undefined) return;
    computer.calls.push(call);
    computer.record.calls++;
  }
}
