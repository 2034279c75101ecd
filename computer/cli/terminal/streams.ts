import type { Writable } from "node:stream";
import type { Size } from "./describe_call.ts";
import type { KeyInput } from "./keyboard.ts";

/** Where a person reads and types; both must be terminals. */
export interface TerminalStreams {
  /** What they type. */
  readonly input: KeyInput;
  /** What they read. */
  readonly output: Writable & Partial<Size>;
}
