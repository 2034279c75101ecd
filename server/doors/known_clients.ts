/**
 * The clients of a gateway, each by the credentials that it has used last: what a client has beyond its
 * requests, such as a session or a task, ends with them.
 *
 * A client whose token expires gets another one once it is refused, so that expiry has a time of grace. A
 * revoked or restricted one has none.
 *
 * @module
 */
import type { Authenticator } from "../auth/authenticator.ts";
import { checkGatewayUse, type Identity } from "../shared/identity.ts";
import { atTime, type Clock, recheckAll, SYSTEM_CLOCK } from "./expiry.ts";
import type { GatewayCaller } from "../../shared/gateway.ts";

/** Milliseconds from the expiry of a client's credentials in which it may come with others. */
export const RENEWAL_MS = 60_000;
/** The most clients that are known, as many as a gateway has sessions; the one not seen for longest is forgotten. */
const MAX_CLIENTS = 100_000;

/** A client of an office. */
interface KnownClient {
  readonly caller: GatewayCaller;
  identity: Identity;
  /** Cancels its end after its expiry. */
  prevent: () => void;
}

/** Those whose requests a gateway has admitted. */
export class KnownClients {
  /** By office and principal; those seen longest ago come first. */
  readonly #clients = new Map<string, KnownClient>();
  readonly #authenticator: Authenticator | undefined;
  readonly #forget: (caller: GatewayCaller) => void;
  readonly #clock: Clock;

  /** @param forget ends what a client has beyond its requests */
  constructor(
    authenticator: Authenticator | undefined,
    forget: (caller: GatewayCaller) => void,
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#authenticator = authenticator;
    this.#forget = forget;
    this.#clock = clock;
  }

  /** Notes the credentials of a request that is admitted. */
  saw(caller: GatewayCaller, identity: Identity): void {
    const key = keyOf(caller);
    const known = this.#clients.get(key);
    this.#clients.delete(key);
    if (known !== undefined) {
      this.#clients.set(key, known);
      return this.#renew(known, identity);
    }
    const [oldest] = this.#clients.values();
    if (oldest && this.#clients.size >= MAX_CLIENTS) this.#end(oldest);
    const client: KnownClient = { caller, identity, prevent: () => {} };
    this.#clients.set(key, client);
    this.#await(client);
  }

  /** Forgets those whose credentials are not valid for their office any more. */
  recheck(): Promise<void> {
    return recheckAll(
      [...this.#clients.values()].map(async (client) => {
        const { identity, caller: { office } } = client;
        const verdict = await this.#authenticator?.refresh?.(identity);
        // It may have come with others meanwhile.
        if (verdict === undefined || client.identity !== identity) return;
        const isValid = "principal" in verdict && mayUse(verdict, office);
        if (isValid) this.#renew(client, verdict);
        else this.#end(client);
      }),
    );
  }

  /** Stops all timers. */
  close(): void {
    for (const { prevent } of this.#clients.values()) prevent();
    this.#clients.clear();
  }

  #renew(client: KnownClient, identity: Identity): void {
    const { expiresAt } = client.identity;
    client.identity = identity;
    if (identity.expiresAt === expiresAt) return;
    client.prevent();
    this.#await(client);
  }

  /** Awaits the expiry of a client's credentials. */
  #await(client: KnownClient): void {
    const { expiresAt = Infinity } = client.identity;
    const end = () => this.#end(client);
    client.prevent = atTime(expiresAt + RENEWAL_MS, end, this.#clock);
  }

  #end(client: KnownClient): void {
    client.prevent();
    this.#clients.delete(keyOf(client.caller));
    this.#forget(client.caller);
  }
}

/** Whether an identity may use an office through a gateway, until it expires. */
export const mayUse = (identity: Identity, office: string): boolean =>
  checkGatewayUse(identity, office, -Infinity) === undefined;

/** No name of an office has a line break. */
const keyOf = ({ office, principal = "" }: GatewayCaller): string =>
  `${office}\n${principal}`;
