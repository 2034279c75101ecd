import {
  CLIENT_EVENTS,
  type ClientEvent,
  namesOf,
  type Profile,
  type Role,
} from "../protocol/mod.ts";
import { shuttingDown, toAnswer } from "./_answers.ts";
import { ask } from "./_ask.ts";
import { partyOf } from "./audit.ts";
import { checkAccess, notInOffice } from "./access_rule.ts";
import type { Limiter } from "./limits/limiter.ts";
import type { CallWatcher } from "./call_watcher.ts";
import type { Member } from "./offices/join_rule.ts";
import type { OfficeRegistry } from "./offices/registry.ts";
import {
  answerDeadline,
  answerTimedOut,
  computerDisconnected,
  computerNotFound,
  readAnswer,
} from "./relay_rule.ts";
import type { PendingCall, Session } from "./session.ts";

/** Carries requests of Agents to Computers and their answers back (spec §7). */
export class Relay {
  readonly #registry: OfficeRegistry;
  readonly #sessions: ReadonlyMap<string, Session>;
  readonly #profile: Profile;
  readonly #requestTimeout: number;
  readonly #watch: CallWatcher;
  readonly #limiter: Limiter;
  readonly #calls = new Set<PendingCall>();
  #idle: (() => void) | undefined;
  #closed = false;

  /**
   * @param sessions the connections of this server by Socket.IO id
   * @param profile what the server speaks
   * @param requestTimeout seconds to wait for requests without a timeout of their own
   * @param watch told of each request that its sender may send
   * @param limiter how many calls an Agent may wait for at once
   */
  constructor(
    registry: OfficeRegistry,
    sessions: ReadonlyMap<string, Session>,
    profile: Profile,
    requestTimeout: number,
    watch: CallWatcher,
    limiter: Limiter,
  ) {
    this.#registry = registry;
    this.#sessions = sessions;
    this.#profile = profile;
    this.#requestTimeout = requestTimeout;
    this.#watch = watch;
    this.#limiter = limiter;
  }

  /**
   * Checks a request and sends it on; the answer comes later, so that events behind this one
   * (a cancel) do not wait for it.
   *
   * @param payload goes to the Computer untouched
   * @param answer called once; with `undefined` when the Agent is gone by then
   * @throws {ProtocolError} when the request is invalid, or its sender may not send it
   */
  async forward(
    agent: Session,
    event: ClientEvent,
    payload: unknown,
    answer: (body: unknown) => void,
  ): Promise<void> {
    const request = CLIENT_EVENTS[event].parseRequest(payload);
    const seat = checkAccess(agent.member, {
      role: "agent",
      name: request.agent,
    });
    const { computer } = request;
    const ended = this.#watch({ event, agent, seat, computer, payload });
    const reply = (body: unknown) => {
      answer(body);
      ended(body);
    };
    try {
      const target = await this.#target(agent, seat, computer);
      const deadline = answerDeadline(
        event,
        (request as { timeout?: unknown }).timeout,
        this.#requestTimeout,
      );
      this.#send(agent, target, event, payload, deadline, reply);
    } catch (error) {
      reply(toAnswer(error));
    }
  }

  /** Ends every call of a session that left its office; its Agent hears why, if it is still there (spec §5). */
  end(session: Session, role: Role, gone: boolean): void {
    if (session.calls.size === 0) return;
    const error = role === "computer"
      ? computerDisconnected(session.member?.name ?? "")
      : gone
      ? undefined
      : notInOffice().toPayload();
    for (const call of [...session.calls]) call.end(error);
  }

  /**
   * Refuses new calls, waits for those on their way, and ends the ones that are left.
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
  }

  /** @throws {ProtocolError} when the request can not be sent on */
  async #target(
    agent: Session,
    seat: Member,
    computer: string,
  ): Promise<Session> {
    if (this.#closed) throw shuttingDown();
    if (agent.calls.size >= this.#limiter.limits.callsPerAgent) {
      throw this.#limiter.refuse("callsPerAgent", partyOf(agent));
    }
    const target = await this.#find(seat.office, computer);
    // Somebody with the same instance_id may have taken the seat over meanwhile.
    if (agent.member !== seat) throw notInOffice();
    if (target === undefined) throw computerNotFound(computer);
    return target;
  }

  async #find(office: string, name: string): Promise<Session | undefined> {
    const found = await this.#registry.find(office, name);
    const session = found && this.#sessions.get(found.socket);
    // The registry may lag behind the socket: one that left or is gone must not get the call.
    const seated = session?.socket.connected &&
      session.member?.office === office && session.member.name === name;
    return seated ? session : undefined;
  }

  #send(
    agent: Session,
    computer: Session,
    event: ClientEvent,
    payload: unknown,
    deadline: number,
    reply: (body: unknown) => void,
  ): void {
    const name = computer.member?.name ?? "";
    const finish = (body: unknown) => {
      this.#calls.delete(call);
      agent.calls.delete(call);
      computer.calls.delete(call);
      reply(body);
      if (this.#calls.size === 0) this.#idle?.();
    };
    const forget = ask(
      computer.socket,
      namesOf(this.#profile, event),
      payload,
      deadline,
      {
        answered: (first) => {
          try {
            finish(readAnswer(first));
          } catch (error) {
            reply(toAnswer(error)); // an answer that can not be encoded again
          }
        },
        timedOut: () => finish(answerTimedOut(name, deadline)),
      },
    );
    const call: PendingCall = {
      end: (error) => {
        forget();
        finish(error);
      },
    };
    this.#calls.add(call);
    agent.calls.add(call);
    computer.calls.add(call);
  }
}
