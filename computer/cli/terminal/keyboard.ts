import { emitKeypressEvents } from "node:readline";
import type { Readable } from "node:stream";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { PressedKey } from "./answer_of.ts";

/** Where keys come from; a terminal can hand them over one by one. */
export type KeyInput = Readable & { setRawMode?: (raw: boolean) => unknown };

/** Milliseconds after a question appears in which no key counts: it was meant for something else. */
const UNCOUNTED_MS = 500;

/** Resolves when keys count; it resolves at once when the signal is aborted. */
export type UntilKeysCount = (signal: AbortSignal) => Promise<void>;

/** Waits out the time in which no key counts. */
export const untilKeysCount: UntilKeysCount = async (signal) => {
  await setTimeout(UNCOUNTED_MS, undefined, { signal }).catch(() => {});
  await setImmediate(); // keys that came while nothing was read are read before the wait ends
};

/**
 * Takes every key that was typed before, and until `wait` is over, for nothing.
 *
 * Lines that were pasted for whoever reads next are there again afterwards: {@linkcode takeBack}.
 */
export async function ignoreKeys(
  input: KeyInput,
  wait: UntilKeysCount,
  signal: AbortSignal,
): Promise<void> {
  const ignore = () => {};
  input.setRawMode?.(true);
  input.on("data", ignore);
  input.resume();
  try {
    await wait(signal);
  } finally {
    input.off("data", ignore);
    input.pause();
    input.setRawMode?.(false);
  }
}

/**
 * Takes what waits in the input's own buffer: lines that were typed ahead for the shell.
 *
 * @returns puts it back
 */
export function takeBack(input: Readable): () => void {
  input.pause();
  const waiting: unknown = input.read();
  return () => {
    if (waiting !== null && !input.readableEnded) input.unshift(waiting);
  };
}

/** Hands each key over until the signal is aborted; rejects when there will be no more. */
export async function eachKey(
  input: KeyInput,
  pressed: (key: PressedKey) => void,
  signal: AbortSignal,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const onKey = (_: unknown, key: PressedKey) => {
    if (!signal.aborted) pressed(key);
  };
  const onAbort = () => done.resolve();
  const onEnd = () => done.reject(new Error("the terminal is gone"));
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.on("keypress", onKey).on("end", onEnd).on("error", onEnd);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  input.resume();
  try {
    await done.promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    input.off("keypress", onKey).off("end", onEnd).off("error", onEnd);
    input.pause();
    input.setRawMode?.(false);
  }
}
