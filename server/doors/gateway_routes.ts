/**
 * The HTTP side of a gateway such as MCP: each request is admitted by the rules for all clients, for one
 * office and as its Agent, and then given to the gateway.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { GatewaySeats } from "./gateway_seats.ts";
import type { CallSource, Gateway, GatewayHost } from "../../shared/gateway.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import type { Identity } from "../shared/identity.ts";
import { isOfficeName, OFFICE_NAME_RULE } from "../../protocol/names.ts";
import { errorPayloadOf } from "../shared/payload.ts";
import { type Exchange, isEncoded, notFound, refusal } from "../shared/http.ts";
import { judgeHost, judgeOrigin } from "../http/gate.ts";
import { hostGuard, type SmcpEnv } from "../http/http_app.ts";
import {
  type AdmissionParts,
  GatewayAdmission,
  METADATA_ROOT,
  officeMissing,
  refuse,
  toGatewayResponse,
} from "./gateway_admission.ts";
import { QuickDoor } from "./quick_door.ts";
import { type Placed, SwapList } from "../../shared/swap_list.ts";
import type { HostParts, SignIn, SignInMaker } from "./sign_in.ts";

/** How a gateway is made, and what it shares with other parts. */
export interface GatewaySetup {
  /** Makes it. */
  readonly start: (host: GatewayHost) => Gateway;
  /** Makes the sign-in to it; absent without one. */
  readonly signIn: SignInMaker | undefined;
  /** The identity of its Agents: one object for all, by which they are recognized. */
  readonly agents: Identity;
}

/** The parts of a server that {@linkcode GatewayRoutes} needs. */
interface GatewayParts
  extends Omit<AdmissionParts, "signIn">, Omit<HostParts, "seats"> {
  /** The seats of its Agents. */
  readonly seats: GatewaySeats | undefined;
  /** Connects its Agents; `callerOf` finds the sender of the request with a `req_id`. */
  readonly connect: (
    agents: Identity,
    callerOf: (reqId: string) => CallSource | undefined,
  ) => InProcessConnection;
}

/** Whose each request is, while it runs. */
class CallSources {
  readonly #open = new SwapList<
    Placed & { readonly reqId: string; readonly source: CallSource }
  >();

  /** Remembers it; returns what ends that. */
  add(reqId: string, source: CallSource): () => void {
    const entry = { reqId, source };
    this.#open.add(entry);
    return () => void this.#open.remove(entry);
  }

  /** Finds that of a request; the ids of its repetitions begin with its own. */
  find(reqId: unknown): CallSource | undefined {
    return typeof reqId !== "string" ? undefined : this.#open.items
      .find((entry) => reqId.startsWith(entry.reqId))?.source;
  }
}

/** What answers a request for an office; `undefined` at the path without one. */
type Answer = (
  exchange: Exchange,
  office: string | undefined,
  request: Request,
) => Response | Promise<Response>;

/**
 * The HTTP requests of a gateway's clients: admits them by the rules for all clients, for one office
 * and as its Agent, at every request.
 */
export class GatewayRoutes {
  readonly #parts: GatewayParts;
  readonly #gateway: Gateway;
  readonly #admission: GatewayAdmission;
  /** The sign-in to it. */
  readonly signIn: SignIn | undefined;
  /** Answers usual requests before the app. */
  readonly quick: QuickDoor;

  /** Makes the gateway, and connects it with its server. */
  constructor({ start, signIn, agents }: GatewaySetup, parts: GatewayParts) {
    this.#parts = parts;
    const sources = new CallSources();
    this.#gateway = start({
      limits: parts.limiter.limits,
      maxMessageBytes: parts.maxMessageBytes,
      connect: () => parts.connect(agents, (reqId) => sources.find(reqId)),
      agentOf: (office) => Promise.resolve(parts.seats?.holderOf(office)),
      attribute: (reqId, source) => sources.add(reqId, source),
    });
    parts.seats?.serve(this.#gateway);
    const { path, agentName } = this.#gateway;
    const recheck = () => this.recheck();
    this.signIn = signIn?.start(
      signIn.newHost({ path, agentName, recheck }, parts),
    );
    const admitting = { ...parts, signIn: this.signIn };
    this.#admission = new GatewayAdmission(this.#gateway, admitting);
    this.quick = new QuickDoor(this.#gateway, this.#admission, admitting);
  }

  /** Adds the routes to an app. */
  mount(app: Hono<SmcpEnv>): void {
    const { origins } = this.#parts;
    const { signIn } = this;
    const { path } = this.#gateway;
    const ofOffice = `${path}/:office`;
    const metadata = `${METADATA_ROOT}${ofOffice}`;
    const paths = signIn ? [ofOffice, path, `${path}/`] : [ofOffice];
    const allow = cors({
      origin: origins === "*" ? "*" : [...origins],
      allowMethods: ["GET", "POST", "DELETE"],
      // All that a page asks for: MCP names headers after the arguments of tools, too.
      exposeHeaders: ["mcp-session-id", "www-authenticate"],
    });
    const open = signIn ? paths : [...paths, metadata];
    for (const each of origins.length > 0 ? open : []) app.use(each, allow);
    for (const each of paths) {
      app.all(each, (c) => this.#answer(c, this.#serve));
    }
    if (signIn) this.#mountSignIn(app, signIn);
    else app.get(metadata, (c) => this.#answer(c, this.#describe));
  }

  /** Adds the routes of the sign-in, for names of this server alone; it judges the pages itself. */
  #mountSignIn(app: Hono<SmcpEnv>, signIn: SignIn): void {
    const own = new Hono<SmcpEnv>();
    signIn.mount(own);
    const guard = hostGuard(this.#parts);
    for (const path of new Set(own.routes.map(({ path }) => path))) {
      app.use(path, guard);
    }
    app.route("/", own);
  }

  /** Returns what a path without an office lacks. */
  hintAt(path: string): string | undefined {
    const own = this.#gateway.path;
    return path === own || path === `${own}/` ? officeMissing(own) : undefined;
  }

  /** Ends the requests of those whose credentials are not valid any more. */
  recheck(): Promise<void> {
    return this.#admission.recheck();
  }

  /** Lets calls end that have their answers, and ends everything else. */
  async close(): Promise<void> {
    await this.#gateway.close();
    await this.#admission.ended();
    await this.signIn?.close();
  }

  /** Answers a request for this server, of no page or of one that may call it. */
  async #answer(c: Context<SmcpEnv>, answer: Answer): Promise<Response> {
    const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
    try {
      if (incoming === undefined || outgoing === undefined) {
        refuse(500, "The app must be served by @hono/node-server");
      }
      const refused = judgeHost(incoming, this.#parts) ??
        judgeOrigin(incoming, this.#parts);
      if (refused) throw toGatewayResponse(refused);
      return await answer({ incoming, outgoing }, officeIn(c), c.req.raw);
    } catch (error) {
      incoming?.resume(); // an unread body would hold the connection open
      if (error instanceof Response) return error;
      return toGatewayResponse(refusal(500, errorPayloadOf(error)));
    }
  }

  readonly #serve: Answer = async (exchange, office, request) => {
    const caller = await this.#admission.admit(exchange, office);
    const body = this.quick.bodyOf(exchange.incoming);
    return await this.#gateway.handle(request, caller, body);
  };

  readonly #describe: Answer = ({ incoming }, office = "") => {
    const urls = this.#admission.urlsOf(incoming, office);
    if (urls === undefined) throw toGatewayResponse(notFound());
    return Response.json({
      resource: urls.resource,
      authorization_servers: this.#parts.authorizationServers,
      bearer_methods_supported: ["header"],
    });
  };
}

/**
 * Returns the office that a request is for; `undefined` at the path without one.
 *
 * @throws {Response} 404, when no office can have that name
 */
function officeIn(c: Context<SmcpEnv>): string | undefined {
  const office = c.req.param("office");
  if (office === undefined) return undefined;
  if (isOfficeName(office) && isEncoded(c.req.path)) return office;
  refuse(
    404,
    `Not found: the path ends with the name of an office, ${OFFICE_NAME_RULE}, encoded as UTF-8`,
  );
}
