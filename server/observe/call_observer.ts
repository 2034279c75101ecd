import type { OfficeParts } from "../office/peer.ts";

/**
 * Called for each request when it arrives. The returned function is called once, when the request
 * ended, with the Agent's answer, or `undefined` if the Agent was gone, and with how it ended. What that
 * function captures stays in memory until then, so it should not capture the payload unless necessary.
 */
export type CallObserver = OfficeParts["observe"];

/** Combines several observers into one. */
export const combineObservers =
  (all: readonly CallObserver[]): CallObserver => (call) =>
    ending(all.map((observe) => observe(call)));

/** A separate function, so that the closure does not capture the request. */
const ending =
  (ends: readonly ReturnType<CallObserver>[]): ReturnType<CallObserver> =>
  (answer, end) => ends.forEach((ended) => ended(answer, end));
