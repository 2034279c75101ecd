import type { Writable } from "node:stream";
import type { Size } from "./describe_call.ts";
import type { KeyInput } from "./keyboard.ts";

/** The user's input and output; both must be terminals. */
export interface TerminalStreams {
  /** The keyboard. */
  readonly input: KeyInput;
  /** The screen. */
  readonly output: Writable & Partial<Size>;
}
