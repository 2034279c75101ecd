/**
 * Which requests are an operator's: by host, origin, token and rate, in this order, as middleware of Hono.
 *
 * @module
 */
import type { IncomingMessage } from "node:http";
import type { Context, MiddlewareHandler } from "hono";
import { ErrorCode } from "../../protocol/mod.ts";
import type { Refused } from "../auth/authenticator.ts";
import type { OpenExchanges } from "../doors/expiry.ts";
import { judgeHost, type RequestParts } from "../http/gate.ts";
import { isForDevices } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { addressOf } from "../limits/limits.ts";
import {
  type Exchange,
  isEncoded,
  notFound,
  toResponse,
} from "../shared/http.ts";
import { type Identity, mayOperate } from "../shared/identity.ts";
import { quote } from "../shared/log.ts";
import { isSameToken } from "../../shared/authorization.ts";
import { ProblemError, problemOf } from "../../shared/http.ts";
import { hostGuard, originGuard, tokenGuard } from "../../shared/page_api.ts";
import type { Operator } from "./api.ts";

/** The parts of a server that decide about operators. */
export interface OperatorAdmission extends RequestParts {
  /** The token of an operator of all offices, besides those of the authenticator. */
  readonly token: string | undefined;
}

/** The Hono environment of admitted requests. */
export interface OperatorEnv extends SmcpEnv {
  /** The type of `c.var`. */
  Variables: {
    /** The sender of the request. */
    readonly operator: Operator;
  };
}

/** The operator that has the server's own token. */
const OWN: Identity = {
  principal: "operator",
  policy: { roles: ["operator"] },
};

/**
 * Answers as on unknown paths while there can be no operators, where `node:http` does not serve the app, and
 * under the host name of approvals.
 */
export const requireOperators = (
  { token, authenticator, approvalsHost }: OperatorAdmission,
): MiddlewareHandler<SmcpEnv> =>
async (c, next) => {
  const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
  const isOn = token !== undefined || authenticator?.hasOperators?.() === true;
  const isElsewhere = isForDevices(incoming?.headers.host, approvalsHost);
  if (isOn && incoming && outgoing && !isElsewhere) return await next();
  incoming?.resume(); // an unread body would hold the connection open
  return toResponse(notFound());
};

/** Refuses requests for names that are not this server's. */
export const requireOwnHost = (
  parts: RequestParts,
): MiddlewareHandler<SmcpEnv> =>
  hostGuard(
    (incoming) => judgeHost(incoming, parts) === undefined,
    "use a name of this Server, such as localhost; smcp-server accepts others with --hosts",
  );

/** Refuses requests of pages of other origins; records them. */
export const requireOwnPage = (
  parts: RequestParts,
): MiddlewareHandler<SmcpEnv> =>
  originGuard({
    // A tunnel may have replaced the host by that of this machine.
    hosts: ({ headers }) => [
      headers.host,
      parts.publicUrl && new URL(parts.publicUrl).host,
    ],
    fix: "send the request from a page of this Server, or from no page",
    onRefused: ({ origin, site }, incoming) => {
      const from = quote(origin ?? site ?? "");
      record(parts, incoming, {
        code: ErrorCode.FORBIDDEN,
        reason: `Origin not allowed for operators (${from})`,
      });
    },
  });

/** Requires the token of an operator, and sets `c.var.operator`; records refusals, without the token. */
export const requireOperator = (
  parts: OperatorAdmission,
): MiddlewareHandler<OperatorEnv> =>
  tokenGuard<OperatorEnv>({
    realm: "operator",
    fix:
      "send Authorization: Bearer and an operator's API key, JWT, or the token that the Server printed",
    check: async (token, c) => {
      const { incoming } = c.env;
      const identity = await identify(token, incoming, parts);
      if ("refused" in identity) {
        const { refused, shown = "missing or invalid token" } = identity;
        const reason = `operator: ${refused}`;
        record(parts, incoming, { code: ErrorCode.UNAUTHORIZED, reason });
        return shown;
      }
      if (!isOperator(identity)) {
        record(parts, incoming, {
          code: ErrorCode.FORBIDDEN,
          reason: "Not allowed to operate",
          principal: identity.principal,
        });
        throw problemOf(
          403,
          "Authorization",
          "the token is not an operator's",
          'add "operator" to the roles of the key, or to the claim role of the token',
        );
      }
      c.set("operator", identity);
      return undefined;
    },
  });

/** Limits the requests of each operator, until their answers have ended. */
export const limitOperator = (
  open: OpenExchanges,
  parts: RequestParts,
): MiddlewareHandler<OperatorEnv> =>
async (c, next) => {
  const { incoming, outgoing } = c.env;
  const address = addressOf(incoming, parts);
  const excess = open.count(outgoing, address, c.var.operator.principal);
  if (excess === undefined) return await next();
  throw new ProblemError(
    429,
    [{ field: "request", problem: excess.message, fix: "wait a second" }],
    { "Retry-After": "1" },
  );
};

/** Refuses URLs of which a name cannot be decoded. */
export const requireEncodedUrl = async (
  c: Context,
  next: () => Promise<void>,
): Promise<void> => {
  if (isEncoded(c.req.url)) return await next();
  throw problemOf(
    400,
    "URL",
    "a part of it is not percent-encoded UTF-8",
    "encode each name with encodeURIComponent()",
  );
};

const isOperator = (identity: Identity): identity is Operator =>
  mayOperate(identity.policy);

async function identify(
  sent: string | undefined,
  incoming: IncomingMessage,
  { authenticator, token, proxies }: OperatorAdmission,
): Promise<Identity | Refused> {
  if (sent === undefined) return { refused: "no token" };
  if (token !== undefined && isSameToken(sent, token)) return OWN;
  if (authenticator === undefined) return { refused: "unknown token" };
  const { authorization } = incoming.headers;
  return await authenticator.authenticate({
    headers: { authorization },
    auth: { token: sent },
    address: addressOf(incoming, { proxies }),
  });
}

/** Records a refused request. */
function record(
  parts: RequestParts,
  incoming: IncomingMessage,
  refusal: { code: number; reason: string; principal?: string },
): void {
  const address = addressOf(incoming, parts);
  parts.limiter.recordRefusedHandshake("http", { ...refusal, address });
}
