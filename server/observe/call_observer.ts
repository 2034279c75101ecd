import type { ClientEvent } from "../../protocol/mod.ts";
import type { CallEnd } from "../shared/call_end.ts";
import type { Member } from "../shared/member.ts";
import type { Session } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";

/** A request of an Agent that passed its checks (spec §5). */
export interface ObservedCall {
  readonly event: ClientEvent;
  /** The Agent's connection. */
  readonly agent: Session;
  /** The Agent's seat at the time of the request. */
  readonly seat: Member;
  /** The name of the requested Computer, in its office or not. */
  readonly computer: string;
  /** The request as it came. */
  readonly payload: Payload;
}

/**
 * Called for each request when it arrives. The returned function is called once, when the request
 * ended, with the Agent's answer, or `undefined` if the Agent was gone, and with how it ended. What that
 * function captures stays in memory until then, so it should not capture the payload unless necessary.
 */
export type CallObserver = (
  call: ObservedCall,
) => (answer: Payload | undefined, end: CallEnd) => void;

/** Combines several observers into one. */
export const combineObservers =
  (all: readonly CallObserver[]): CallObserver => (call) =>
    ending(all.map((observe) => observe(call)));

/** A separate function, so that the closure does not capture the request. */
const ending =
  (ends: readonly ReturnType<CallObserver>[]) =>
  (answer: Payload | undefined, end: CallEnd): void =>
    ends.forEach((ended) => ended(answer, end));
