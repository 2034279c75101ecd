import type { Server as Engine } from "engine.io";
import type { PacketGuards } from "../limits/packet_guards.ts";

/** What handles the requests that passed the gate. */
export interface ServedEngine {
  /** Handles them. */
  readonly engine: Engine;
  /** Check the bodies of requests. */
  readonly guards: PacketGuards;
}
