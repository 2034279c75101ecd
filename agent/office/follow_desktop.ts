import { onAbort } from "../../shared/async.ts";
import { ConnectionError } from "../../client/errors.ts";
import type { Listener } from "../../client/emitter.ts";
import type { Desktop } from "../../protocol/mod.ts";
import { isComputerNotFound } from "../requests/computer_not_found.ts";
import type { AgentEvents } from "./events.ts";

/** What `followDesktop` needs of an Agent. */
export interface DesktopSource {
  /** Fetches the desktop. */
  fetch(): Promise<Desktop[]>;
  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof AgentEvents>(
    event: E,
    listener: Listener<AgentEvents[E]>,
  ): () => void;
}

/**
 * Yields the desktop now, and again after each change (spec §9).
 *
 * Changes that arrive while the consumer is busy are coalesced into one.
 */
export async function* followDesktop(
  computer: string,
  source: DesktopSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<Desktop[], void, void> {
  let change = Promise.withResolvers<void>();
  const onNotification = (payload: { computer?: string }) => {
    if (payload.computer === computer) change.resolve();
  };
  let over: { reason: unknown } | undefined;
  const fail = (reason: unknown) => {
    over ??= { reason };
    change.resolve();
  };
  const offs = [
    source.on("updateDesktop", onNotification),
    source.on("enterOffice", onNotification), // its windows may have changed
    source.on("joined", () => change.resolve()),
    source.on("disconnected", ({ reason, reconnecting }) => {
      if (!reconnecting) fail(new ConnectionError("closed", reason));
    }),
  ];
  offs.push(onAbort(signal, () => fail(signal?.reason)));
  try {
    signal?.throwIfAborted();
    let wasThere = false;
    while (true) {
      const desktop = await source.fetch().catch((error) => {
        if (!wasThere || !mayComeBack(error)) throw error;
      });
      wasThere = true;
      if (desktop) yield desktop;
      await change.promise;
      if (over) throw over.reason;
      change = Promise.withResolvers();
    }
  } finally {
    offs.forEach((off) => off());
  }
}

/** Checks whether only the Computer or the connection is away; an event follows when it is back. */
const mayComeBack = (error: unknown): boolean =>
  isComputerNotFound(error) ||
  error instanceof ConnectionError &&
    (error.code === "lost" || error.code === "offline");
