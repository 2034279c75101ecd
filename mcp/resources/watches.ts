import { withTimeout } from "../../shared/async.ts";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { type Place, placeOf } from "./uris.ts";

/** How long a Computer may take; Python's never answers. */
const WATCH_TIMEOUT_MS = 10_000;

/** A resource that some client wants to be told of. */
interface Wanted {
  readonly place: Place;
  /** By how many. */
  count: number;
  /** Settles with the Computer's answer; absent until it is asked. */
  begun: Promise<void> | undefined;
}

/** A client's wish to be told of a resource. */
export interface Wish {
  /** Resolves once changes are told, or will be when the Computer is back. */
  readonly ready: Promise<void>;
  /** Ends it. */
  release(): void;
}

/** Lets Computers tell of the resources that clients of any view have subscribed to. */
export class Watches {
  /** By URI of the office. */
  readonly #wanted = new Map<string, Wanted>();
  #agent: SmcpAgent | undefined;
  #offs: (() => void)[] = [];

  /** Asks through this Agent from now on, for what is wanted already too. */
  use(agent: SmcpAgent): void {
    if (agent === this.#agent) return;
    this.close();
    this.#agent = agent;
    const again = (computer?: string) => {
      for (const wanted of this.#wanted.values()) {
        if ((computer ?? wanted.place.computer) !== wanted.place.computer) {
          continue;
        }
        this.#begin(wanted)?.catch(() => {
          // Its MCP server may start later, and its tools are told then.
        });
      }
    };
    const forget = (computer?: string) => {
      for (const wanted of this.#wanted.values()) {
        if ((computer ?? wanted.place.computer) === wanted.place.computer) {
          wanted.begun = undefined;
        }
      }
    };
    this.#offs = [
      agent.on("joined", () => {
        forget(); // Computers have seen this Agent leave
        again();
      }),
      agent.on("leaveOffice", ({ computer }) => computer && forget(computer)),
      agent.on("tools", ({ computer, tools }) => tools && again(computer)),
    ];
    forget();
    again();
  }

  /** Lets a resource be watched for one client more; windows and documents are told of anyway. */
  want(uri: string): Wish {
    const place = placeOf(uri);
    if (place === undefined) {
      return { ready: Promise.reject(new Error(`No ${uri}`)), release() {} };
    }
    const wanted = this.#wanted.get(uri) ??
      { place, count: 0, begun: undefined };
    this.#wanted.set(uri, wanted);
    wanted.count++;
    const ready = this.#begin(wanted) ?? wanted.begun ?? Promise.resolve();
    ready.catch(() => {}); // for who does not wait for it
    let isOver = false;
    return {
      ready,
      release: () => {
        if (isOver) return;
        isOver = true;
        if (--wanted.count > 0) return;
        this.#wanted.delete(uri);
        if (wanted.begun) this.#end(place);
      },
    };
  }

  /** The URIs of a kind that are wanted of a Computer. */
  wanted(computer: string, kind: Place["kind"]): string[] {
    return [...this.#wanted]
      .filter(([, { place }]) =>
        place.kind === kind && place.computer === computer
      )
      .map(([uri]) => uri);
  }

  /** Asks for nothing more; the Agent stays as it is. */
  close(): void {
    for (const off of this.#offs.splice(0)) off();
    this.#agent = undefined;
  }

  /** @returns `undefined` when it has begun already, or there is nothing to ask for */
  #begin(wanted: Wanted): Promise<void> | undefined {
    const { place } = wanted;
    const agent = this.#agent;
    if (wanted.begun || place.kind !== "resource" || !agent) return undefined;
    const { computer, server, uri } = place;
    const begun = withTimeout(
      WATCH_TIMEOUT_MS,
      (signal) => agent.watchResource(computer, server, uri, { signal }),
    );
    wanted.begun = begun;
    begun.catch(() => {
      if (wanted.begun === begun) wanted.begun = undefined;
    });
    return begun.catch((error) => {
      if (!isAway(error)) throw error;
    });
  }

  #end(place: Place): void {
    if (place.kind !== "resource") return;
    const { computer, server, uri } = place;
    this.#agent?.watchResource(computer, server, uri, { stop: true })
      .catch(() => {
        // It is away, or has forgotten it already.
      });
  }
}

/** Whether a Computer or its MCP server is not there now: it is asked when its tools are back. */
function isAway(error: unknown): boolean {
  if (!(error instanceof ProtocolError)) return false;
  const { code, fields: { mcp_server, reason } } = error;
  return code === ErrorCode.NOT_FOUND &&
    (mcp_server === undefined || reason !== undefined);
}
