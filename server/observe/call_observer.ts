import type { ClientEvent } from "../../protocol/mod.ts";
import type { Member } from "../shared/member.ts";
import type { Session } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";

/** A request of an Agent that passed the checks of §5. */
export interface ObservedCall {
  readonly event: ClientEvent;
  /** The Agent's connection. */
  readonly agent: Session;
  /** The Agent's seat when it asked. */
  readonly seat: Member;
  /** The name of the Computer it asked for, in its office or not. */
  readonly computer: string;
  /** The request as it came. */
  readonly payload: Payload;
}

/**
 * Told of each request when it comes; the function that it returns is called once, when the request
 * ended, with what the Agent heard, or `undefined` when the Agent was gone by then. Whatever that
 * function holds on to stays in memory until then: not the payload, unless it is needed.
 */
export type CallObserver = (
  call: ObservedCall,
) => (answer: Payload | undefined) => void;

/** Tells several watchers of the same requests. */
export const watchers =
  (all: readonly CallObserver[]): CallObserver => (call) =>
    ending(all.map((watch) => watch(call)));

/** Apart from the request, which must not stay in memory until it ended. */
const ending =
  (ends: readonly ReturnType<CallObserver>[]) =>
  (answer: Payload | undefined): void => ends.forEach((ended) => ended(answer));
