import { onAbort } from "../../../shared/async.ts";
import { emitKeypressEvents } from "node:readline";
import type { Readable } from "node:stream";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { PressedKey } from "./answer_of.ts";

/** The input; terminals support raw mode, in which keys arrive one by one. */
export type KeyInput = Readable & { setRawMode?: (raw: boolean) => unknown };

/** Keys pressed this soon after a question appears were meant for something else. */
const IGNORE_KEYS_MS = 500;

/** Resolves when keys are accepted, or at once when the signal is aborted. */
export type UntilKeysCount = (signal: AbortSignal) => Promise<void>;

/** Waits until keys are accepted. */
export const untilKeysCount: UntilKeysCount = async (signal) => {
  await setTimeout(IGNORE_KEYS_MS, undefined, { signal }).catch(() => {});
  await setImmediate(); // keys that are already buffered are read first
};

/**
 * Shows a question, and drops all keys typed before and until `wait` resolves.
 *
 * The terminal is in raw mode first and stays in it: keys that are not read yet would be echoed into
 * what is shown. Lines pasted for the next reader are restored by {@linkcode takeBack}.
 */
export async function ignoreKeys(
  input: KeyInput,
  wait: UntilKeysCount,
  signal: AbortSignal,
  show: () => void,
): Promise<void> {
  const ignore = () => {};
  input.setRawMode?.(true);
  input.on("data", ignore);
  input.resume();
  show();
  try {
    await wait(signal);
  } finally {
    input.off("data", ignore);
    input.pause();
  }
}

/**
 * Takes the buffered input: lines typed ahead for the shell.
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

/**
 * Passes each key to `pressed` until the signal is aborted; rejects at the end of the input.
 *
 * @param ready called once keys are received: what it prints may ask for them
 */
export async function eachKey(
  input: KeyInput,
  pressed: (key: PressedKey) => void,
  signal: AbortSignal,
  ready: () => void,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  const onKey = (_: unknown, key: PressedKey) => {
    if (!signal.aborted) pressed(key);
  };
  const onEnd = () => done.reject(new Error("the terminal is gone"));
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.on("keypress", onKey).on("end", onEnd).on("error", onEnd);
  const off = onAbort(signal, done.resolve);
  input.resume();
  try {
    ready();
    await done.promise;
  } finally {
    off();
    input.off("keypress", onKey).off("end", onEnd).off("error", onEnd);
    input.pause();
    input.setRawMode?.(false);
  }
}
