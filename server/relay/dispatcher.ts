import {
  CANCEL_TOOL_CALL_EVENT,
  ErrorCode,
  eventOf,
  hasNotificationPrefix,
  isClientEvent,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  type ListRoomRet,
  type Profile,
  ProtocolError,
  SERVER_EVENTS,
  type ServerEvent,
  type ServerEventSpec,
  TOOL_CALL_PROGRESS_EVENT,
  UPDATE_RESOURCES_EVENT,
  type UpdateResources,
} from "../../protocol/mod.ts";
import { notServing } from "../shared/error_payload.ts";
import { log, quote, short } from "../shared/log.ts";
import { checkAccess } from "./access_rule.ts";
import { addressGroup } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import { LogThrottle } from "../limits/log_throttle.ts";
import { overLimit } from "../limits/limits.ts";
import { eventEnd } from "../observe/event_outcome.ts";
import { partyOf } from "../shared/audit.ts";
import type { Journal } from "../shared/journal.ts";
import type { Exchange } from "../offices/exchange.ts";
import type { Membership } from "../offices/membership.ts";
import type { OfficeNews } from "../offices/office_news.ts";
import type { Metrics } from "../observe/metrics.ts";
import { answering, refusing, type Reply } from "./event_answers.ts";
import type { Relay } from "./relay.ts";
import { passOnProgress } from "./progress.ts";
import { endOfCancelled } from "./relay_rule.ts";
import type { Session } from "../shared/session.ts";
import { type Answer, type Incoming, Payload } from "../wire/mod.ts";

/** Routes every event of every connection; always sends a requested ack (spec §3, §6). */
export class Dispatcher {
  readonly #profile: Profile;
  readonly #relay: Relay;
  readonly #membership: Membership;
  readonly #news: OfficeNews;
  readonly #limiter: Limiter;
  readonly #metrics: Metrics | undefined;
  readonly #journal: Journal;
  readonly #exchange: Exchange | undefined;
  #flood: ProtocolError | undefined;
  readonly #unknown = new LogThrottle<{ name: string; socket: string }>(
    (line, omitted) =>
      log.warn("Unknown event {name}", {
        ...line,
        ...(omitted > 0 && { omitted }),
      }),
  );

  /**
   * Routes requests for Computers to `relay`, everything about offices to `membership`.
   *
   * @param exchange the other nodes, in a cluster
   */
  constructor(
    profile: Profile,
    relay: Relay,
    membership: Membership,
    news: OfficeNews,
    limiter: Limiter,
    metrics: Metrics | undefined,
    journal: Journal,
    exchange: Exchange | undefined,
  ) {
    this.#exchange = exchange;
    this.#limiter = limiter;
    this.#metrics = metrics;
    this.#journal = journal;
    this.#profile = profile;
    this.#relay = relay;
    this.#membership = membership;
    this.#news = news;
  }

  /** Handles one event after all earlier ones of the session took effect, progress at once. Never throws. */
  receive(session: Session, incoming: Incoming): void {
    if (!session.events.take(performance.now())) {
      return this.#refuseFlood(session, incoming);
    }
    // The time is looked at here too: timers of a process that was stopped are late.
    if (this.#exchange?.isServing() === false) {
      return this.#refuseAtOnce(incoming, notServing());
    }
    const measure = this.#measure(incoming);
    const answer = answering(session, incoming.ack, measure);
    // Answers of calls wait for no turn either: the last progress must not come after them.
    if (incoming.event === TOOL_CALL_PROGRESS_EVENT) {
      void this.#take(session, incoming, answer);
    } else session.enqueue(() => this.#take(session, incoming, answer));
  }

  /** @returns a promise if the event is still being handled, otherwise `undefined` */
  #take(
    session: Session,
    incoming: Incoming,
    answer: Reply,
  ): Promise<void> | undefined {
    const { event } = incoming;
    // A disconnected client needs no answers, but its earlier notifications (a cancel) still count.
    if (!session.socket.connected && this.#ackOf(event) !== "none") return;
    try {
      return this.#handle(session, incoming, answer)
        ?.catch(refusing(session, event, answer, this.#journal));
    } catch (error) {
      refusing(session, event, answer, this.#journal)(error);
    }
  }

  #handle(
    session: Session,
    { event: name, payload }: Incoming,
    answer: Reply,
  ): Promise<void> | undefined {
    const event = eventOf(this.#profile, name);
    if (event === undefined) {
      this.#refuse(session, name);
      answer([]);
    } else if (isClientEvent(event)) {
      return this.#relay.forward(session, event, payload, answer);
    } else if (event === TOOL_CALL_PROGRESS_EVENT) {
      passOnProgress(session, payload.parse());
      answer([]);
    } else {
      return this.#serve(session, event, payload.parse())
        .then(answer);
    }
  }

  /** @returns a function to call with the answer; `undefined` without metrics */
  #measure(
    { event: name }: Incoming,
  ): Reply | undefined {
    const metrics = this.#metrics;
    if (metrics === undefined) return undefined;
    const began = performance.now();
    // A name that a client made up would create a metric label.
    const event = eventOf(this.#profile, name) ?? "unknown";
    return (answer, end = eventEnd(answer)) =>
      metrics.answered(
        event,
        end,
        performance.now() - began,
      );
  }

  /** Answers immediately instead of in order: events over the rate must not fill the queue. */
  #refuseFlood(session: Session, incoming: Incoming): void {
    this.#limiter.recordHit("eventsPerSecond", partyOf(session));
    // Created once: an error costs more than everything else done for such an event.
    const error = this.#flood ??= overLimit(
      this.#limiter.limits,
      "eventsPerSecond",
    );
    this.#refuseAtOnce(incoming, error);
  }

  #refuseAtOnce(incoming: Incoming, error: ProtocolError): void {
    const answer = this.#ackOf(incoming.event) === "office"
      ? [false, error.message]
      : Payload.of(error.toPayload());
    this.#measure(incoming)?.(answer);
    incoming.ack?.(answer);
  }

  /** The kind of ack of an event that the server answers itself; `undefined` for any other. */
  #ackOf(name: string): ServerEventSpec<ServerEvent>["ack"] | undefined {
    const event = eventOf(this.#profile, name);
    if (event === undefined || isClientEvent(event)) return undefined;
    return SERVER_EVENTS[event].ack;
  }

  /** @throws {ProtocolError} 400, unless the event is a notification, which is ignored (spec §3) */
  #refuse(session: Session, name: string): void {
    if (hasNotificationPrefix(name)) {
      log.debug("A client's own {name} is not relayed", {
        name: short(name),
        socket: session.socket.id,
      });
      return;
    }
    const line = { name: short(name), socket: session.socket.id };
    this.#unknown.take(
      `${addressGroup(session.address)} ${line.name}`,
      line,
      performance.now(),
    );
    throw new ProtocolError(
      ErrorCode.BAD_REQUEST,
      `Unknown event ${quote(name)}`,
    );
  }

  async #serve(
    session: Session,
    event: Exclude<ServerEvent, typeof TOOL_CALL_PROGRESS_EVENT>,
    payload: unknown,
  ): Promise<Answer> {
    switch (event) {
      case JOIN_OFFICE_EVENT:
        return await this.#membership.join(session, payload);
      case LEAVE_OFFICE_EVENT:
        return await this.#membership.leave(session, payload);
      case LIST_ROOM_EVENT:
        return Payload.of(await this.#listRoom(session, payload));
      case CANCEL_TOOL_CALL_EVENT:
        this.#cancel(session, payload);
        return [];
      default:
        this.#update(session, event, payload);
        return [];
    }
  }

  async #listRoom(session: Session, payload: unknown): Promise<ListRoomRet> {
    const { from, parseRequest } = SERVER_EVENTS[LIST_ROOM_EVENT];
    const { agent, office_id, req_id } = parseRequest(payload);
    const { office } = checkAccess(
      session.member,
      { role: from, name: agent, office: office_id },
      session.identity?.policy,
    );
    const members = await this.#membership.list(office);
    return {
      sessions: members.map(({ socket, name, role, version }) => ({
        sid: socket,
        name,
        role,
        office_id: office,
        ...(this.#profile.handshake && { a2c_version: version }),
      })),
      req_id,
    };
  }

  /** Notifies the whole office, including the sender (spec §3). */
  #cancel(session: Session, payload: unknown): void {
    const { from, parseRequest, notification } =
      SERVER_EVENTS[CANCEL_TOOL_CALL_EVENT];
    const { agent, req_id, reason } = parseRequest(payload);
    const { office, name } = checkAccess(
      session.member,
      { role: from, name: agent },
      session.identity?.policy,
    );
    for (const call of session.calls) {
      if (call.reqId !== req_id) continue;
      call.stopped ??= endOfCancelled(call, reason, performance.now());
    }
    if (notification === undefined) return;
    this.#news.notify({
      office,
      event: notification,
      payload: {
        agent: name,
        req_id,
        ...(reason === "timeout" && { reason }),
      },
      from: session.socket.id,
      except: undefined,
    });
  }

  #update(
    session: Session,
    event: Exclude<
      ServerEvent,
      | typeof JOIN_OFFICE_EVENT
      | typeof LEAVE_OFFICE_EVENT
      | typeof LIST_ROOM_EVENT
      | typeof CANCEL_TOOL_CALL_EVENT
      | typeof TOOL_CALL_PROGRESS_EVENT
    >,
    payload: unknown,
  ): void {
    const { from, parseRequest, notification } = SERVER_EVENTS[event];
    const { computer, ...about } = parseRequest(payload);
    const { office, socket } = checkAccess(
      session.member,
      { role: from, name: computer },
    );
    if (notification === undefined) return;
    const told = event === UPDATE_RESOURCES_EVENT ? resourceOf(about) : {};
    this.#news.notify({
      office,
      event: notification,
      payload: { computer, ...told },
      from: socket,
      except: socket,
    });
  }
}

/** Leaves out what a Computer adds. */
const resourceOf = (
  { mcp_server, uri }: Omit<UpdateResources, "computer">,
): Omit<UpdateResources, "computer"> => ({
  ...(mcp_server !== undefined && { mcp_server }),
  ...(uri !== undefined && { uri }),
});
