import type { Identity } from "../shared/identity.ts";

/** Who made a call that a gateway's Agent sends. */
export interface CallSource {
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
  /** Name and version of its program, as that says itself. */
  readonly client?: string;
}

/** The calls of a gateway's Agents by `req_id`, with those who made them, for the audit log. */
export class CallSources {
  readonly #agents: Identity;
  readonly #sources = new Map<string, CallSource>();

  /** @param agents the identity of the gateway's Agents: no other can name a source */
  constructor(agents: Identity) {
    this.#agents = agents;
  }

  /** Names who makes a call; returns a function that removes it. */
  add(reqId: string, source: CallSource): () => void {
    this.#sources.set(reqId, source);
    return () => {
      if (this.#sources.get(reqId) === source) this.#sources.delete(reqId);
    };
  }

  /** Finds who made a call; `undefined` if the Agent made the call itself. */
  of(agent: Identity | undefined, reqId: string): CallSource | undefined {
    return agent === this.#agents ? this.#sources.get(reqId) : undefined;
  }
}
