/**
 * The contract between a Server and its sign-in, which is loaded only where it is switched on.
 *
 * @module
 */
import type { Hono } from "hono";
import type { ComputerChoice } from "../../shared/computer_choice.ts";
import type { CallerGrant } from "../../shared/gateway.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import type { Credentials, KeptKey, Refused } from "../auth/authenticator.ts";
import type { RequestParts } from "../http/gate.ts";
import type { Offices } from "../office/peer.ts";
import type { AuditEvent } from "../shared/audit.ts";
import type { Identity } from "../shared/identity.ts";
import type { SignInStore } from "../sign_in/grant.ts";
import type { GatewaySeats } from "./gateway_seats.ts";
import type { Issuer } from "./issuer.ts";

/** What `signIn()` of `@a2c-smcp/sdk/server/sign-in` returns, for the option `signIn`. */
export interface SignInOption {
  /** Names it. */
  readonly kind: "sign-in";
}

/** Makes the sign-in of a Server, with code that is loaded only where it is switched on. */
export interface SignInMaker {
  /** Makes what the Server gives it. */
  newHost(gateway: SignInGateway, parts: HostParts): SignInHost;
  /** Makes it. */
  start(host: SignInHost): SignIn;
}

const makers = new WeakMap<SignInOption, SignInMaker>();

/** Makes an option of what makes a sign-in, which users do not see. */
export function signInOption(maker: SignInMaker): SignInOption {
  const option: SignInOption = { kind: "sign-in" };
  makers.set(option, maker);
  return option;
}

/**
 * Returns what makes the sign-in of an option.
 *
 * @throws {TypeError} when it is none
 */
export function makerOf(option: SignInOption): SignInMaker {
  const maker = makers.get(option);
  if (maker !== undefined) return maker;
  throw new TypeError(
    "Cannot use the option signIn: expected what signIn() of @a2c-smcp/sdk/server/sign-in returns",
  );
}

/** The parts of a server from which its sign-in gets what it needs. */
export interface HostParts
  extends Pick<RequestParts, "authenticator" | "cluster" | "proxies"> {
  readonly issuer: Pick<Issuer, "url">;
  readonly offices: Offices;
  /** The seats of the gateway's Agents. */
  readonly seats: Pick<GatewaySeats, "holds"> | undefined;
  readonly audit: (event: AuditEvent) => void;
}

/** The gateway that a sign-in leads to. */
export interface SignInGateway {
  /** The path before the name of an office. */
  readonly path: string;
  /** The name of its Agents. */
  readonly agentName: string | undefined;
  /** Ends what was begun with credentials that are not valid any more. */
  recheck(): Promise<void>;
}

/** What a Server gives its sign-in. */
export interface SignInHost {
  /** The path of the gateway, such as `/mcp`. */
  readonly gatewayPath: string;
  /** The URL by which clients reach the Server, which is the issuer; `undefined` until it listens on loopback. */
  issuer(): string | undefined;
  /** Number of trusted proxies, by which the address of a request is found, whose failures are counted. */
  readonly proxies: number;
  /** Judges the credentials that a person typed; absent where the Server has no authenticator. */
  readonly authenticate?: (
    credentials: Credentials,
  ) => Promise<Identity | Refused>;
  /** Finds the identity of a key again by what is kept of it; absent without an authenticator. */
  readonly find?: (kept: KeptKey) => Promise<Identity | Refused>;
  /** Makes the store that all nodes share, which the sign-in closes; absent where there is one node alone. */
  readonly store?: () => Promise<SignInStore>;
  /** Returns the names of the Computers in an office now, sorted. */
  computersOf(office: string): Promise<readonly string[]>;
  /** Returns the Agent that has the seat of an office, unless it is the gateway's. */
  agentOf(office: string): Promise<string | undefined>;
  /** Ends open requests, sessions and tasks of grants that have ended. */
  recheck(): Promise<void>;
  /** Writes a line of the audit log. */
  readonly audit: (event: AuditEvent) => void;
}

/** Who a token of a sign-in lets in. */
export interface SignedIn {
  /** Its principal is that of the key; it ends with the grant. */
  readonly identity: Identity;
  readonly office: string;
  readonly grant: CallerGrant;
}

/** The sign-in of a Server. */
export interface SignIn {
  /** Adds the metadata, `/authorize`, `/token`, `/register` and `/revoke`. */
  mount(app: Hono<SmcpEnv>): void;
  /**
   * Decides about a token at a resource.
   *
   * @param office of the resource; `undefined` at the gateway's bare path
   * @returns `undefined` for what is no token of a sign-in
   */
  admit(
    token: string,
    office: string | undefined,
  ): Promise<SignedIn | Refused> | undefined;
  /** Checks an identity of {@linkcode SignedIn} again; `undefined` for that of another. */
  refresh(identity: Identity): Promise<Identity | Refused> | undefined;
  /** Makes the challenge of a 401 at a resource. */
  challenge(office: string | undefined, hadCredentials: boolean): string;
  /** Returns the URL that a program signs in at, where its person chooses the office; `undefined` while there is no issuer. */
  url(): string | undefined;
  /** Returns the grants, newest first. */
  grants(): Promise<readonly GrantView[]>;
  /**
   * Ends grants.
   *
   * @param which returns whether a grant is to end
   * @returns those that ended
   */
  end(
    order: EndOrder,
    which: (grant: GrantView) => boolean,
  ): Promise<readonly GrantView[]>;
  /**
   * Refuses a person of an upstream provider from now on, and ends what the person has allowed.
   *
   * @returns whether the principal can be one of that provider's
   */
  revoke(principal: string, order: EndOrder): Promise<boolean>;
  /** Closes the store. */
  close(): Promise<void>;
}

/** Who ends grants, and why, for the audit log. */
export interface EndOrder {
  /** The operator's principal. */
  readonly by: string;
  readonly reason: string;
}

/** A grant as operators see it; times in ISO 8601. */
export interface GrantView {
  readonly id: string;
  /** Whose key or account allowed it. */
  readonly principal: string;
  readonly office: string;
  /** The program's name, as it states it. */
  readonly program: string;
  /** The host that vouches for the name. */
  readonly vouched_by?: string;
  readonly computers: ComputerChoice;
  readonly since: string;
  readonly used: string;
  readonly expires: string;
}
