import {
  CLIENT_EVENTS,
  type ClientEvent,
  namesOf,
  type Profile,
  type Role,
} from "../../protocol/mod.ts";
import { errorPayloadOf, shuttingDown } from "../shared/error_payload.ts";
import { sendRequest } from "./send_request.ts";
import { swapRemove } from "../shared/swap_remove.ts";
import { Deadlines } from "../shared/deadlines.ts";
import { partyOf } from "../shared/audit.ts";
import { checkAccess, notInOffice } from "./access_rule.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { CallObserver, ObservedCall } from "../observe/call_observer.ts";
import type { Member } from "../shared/member.ts";
import type { OfficeRegistry } from "../offices/registry.ts";
import { tellOtherName } from "./other_name.ts";
import type { LinkedSession } from "./linked_session.ts";
import {
  answerDeadline,
  answerTimedOut,
  computerDisconnected,
  computerNotFound,
  readAnswer,
  withAgentName,
} from "./relay_rule.ts";
import type { Follower, PendingCall, Session } from "../shared/session.ts";
import { Payload } from "../wire/mod.ts";

/** Relays requests from Agents to Computers, and the answers back (spec §7). */
export class Relay {
  readonly #registry: OfficeRegistry;
  readonly #sessions: ReadonlyMap<string, LinkedSession>;
  readonly #profile: Profile;
  readonly #requestTimeoutMs: number;
  readonly #observer: CallObserver;
  readonly #limiter: Limiter;
  readonly #calls = new Deadlines<PendingCall>();
  #idle: (() => void) | undefined;
  #closed = false;

  /**
   * @param sessions the connections of this server by Socket.IO id
   * @param profile the protocol version of the server
   * @param requestTimeoutMs how long to wait for requests without a timeout of their own
   * @param observer called for each request that passed its checks
   * @param limiter limits the pending calls of an Agent
   */
  constructor(
    registry: OfficeRegistry,
    sessions: ReadonlyMap<string, LinkedSession>,
    profile: Profile,
    requestTimeoutMs: number,
    observer: CallObserver,
    limiter: Limiter,
  ) {
    this.#registry = registry;
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
    answer: (body: Payload | undefined) => void,
  ): Promise<void> | undefined {
    const request = CLIENT_EVENTS[event].parseRequest(payload.peek());
    const seat = checkAccess(
      agent.member,
      { role: "agent", name: request.agent },
      agent.identity?.policy,
    );
    const isOwnName = request.agent === seat.name;
    if (!isOwnName) tellOtherName(agent, request.agent);
    const { computer } = request;
    const follower = "progress" in request && request.progress === true
      ? { agent, reqId: request.req_id }
      : undefined;
    const call: ObservedCall = {
      event,
      agent,
      seat,
      computer,
      payload: isOwnName ? payload : withAgentName(seat, payload),
    };
    const reply = replying(answer, this.#observer(call));
    const deadline = answerDeadline(
      event,
      "timeout" in request ? request.timeout : undefined,
      this.#requestTimeoutMs,
    );
    try {
      this.#checkCapacity(agent);
      const found = this.#registry.find(seat.office, computer);
      if (!(found instanceof Promise)) {
        return void this.#send(call, found, deadline, follower, reply);
      }
      return found
        .then((found) => this.#send(call, found, deadline, follower, reply))
        .catch((error) => reply(Payload.of(errorPayloadOf(error))));
    } catch (error) {
      reply(Payload.of(errorPayloadOf(error)));
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
    for (const call of [...session.calls]) call.end(error);
  }

  /**
   * Refuses new calls, waits for pending ones, and ends those that remain.
   *
   * @param milliseconds how long to wait at most
   */
  async drain(milliseconds: number): Promise<void> {
    this.#closed = true;
    if (this.#calls.size > 0 && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    for (const call of [...this.#calls]) call.end(shuttingDown().toPayload());
    this.#calls.clear();
  }

  /** @throws {ProtocolError} when the Agent may not make another call now */
  #checkCapacity(agent: Session): void {
    if (this.#closed) throw shuttingDown();
    if (agent.calls.length >= this.#limiter.limits.callsPerAgent) {
      throw this.#limiter.refuse("callsPerAgent", partyOf(agent));
    }
  }

  /** @throws {ProtocolError} when the request cannot be forwarded */
  #target(
    { agent, seat, computer }: ObservedCall,
    found: Member | undefined,
  ): LinkedSession {
    // Another client with the same instance_id may have taken over the seat meanwhile.
    if (agent.member !== seat) throw notInOffice();
    const session = found && this.#sessions.get(found.socket);
    // The registry may lag behind: a Computer that left must not get the call.
    const seated = session?.socket.connected &&
      session.member?.office === seat.office &&
      session.member.name === computer;
    if (!seated) throw computerNotFound(computer);
    return session;
  }

  /** The closures that wait for the answer must not capture the request, or it stays in memory. */
  #send(
    request: ObservedCall,
    found: Member | undefined,
    deadline: number,
    follower: Follower | undefined,
    reply: (body: Payload | undefined) => void,
  ): void {
    const { agent, event } = request;
    const computer = this.#target(request, found);
    const finish = (body: Payload | undefined) => {
      this.#calls.remove(call);
      remove(agent.calls, call);
      remove(computer.calls, call);
      reply(body);
      if (this.#calls.size === 0) this.#idle?.();
    };
    const sent = sendRequest(
      computer.link,
      namesOf(this.#profile, request.event),
      request.payload,
      (first) => {
        try {
          finish(readAnswer(first, event));
        } catch (error) {
          reply(Payload.of(errorPayloadOf(error))); // an answer that cannot be encoded again
        }
      },
    );
    const end = (body: Payload | undefined) => {
      sent.forget();
      finish(body);
    };
    const now = performance.now();
    const call: PendingCall = {
      follower,
      due: now + deadline,
      end: (error) => end(error && Payload.of(error)),
      expire: () => {
        const best = sent.best();
        end(
          best === undefined
            ? Payload.of(
              answerTimedOut(computer.member?.name ?? "", deadline),
            )
            : readAnswer(best, event),
        );
      },
    };
    this.#calls.add(call, now);
    agent.calls.push(call);
    computer.calls.push(call);
  }
}

/** Outside of {@linkcode Relay.forward}, so that the closure does not capture the request until the call has ended. */
const replying = (
  answer: (body: Payload | undefined) => void,
  ended: (body: Payload | undefined) => void,
) =>
(body: Payload | undefined): void => {
  answer(body);
  ended(body);
};

/** Removes an item by linear search: the lists are short. */
function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) swapRemove(list, at);
}
