import type { Server as Engine } from "engine.io";
import type { PacketGuards } from "../limits/packet_guards.ts";
import type { Served } from "./gate.ts";

/** What handles the requests of one protocol version that passed the gate. */
export interface ServedEngine extends Served {
  /** Handles them. */
  readonly engine: Engine;
  /** Check the bodies of requests. */
  readonly guards: PacketGuards;
}
