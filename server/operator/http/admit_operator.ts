import { ErrorCode } from "../../../protocol/mod.ts";
import type { Refused } from "../../auth/authenticator.ts";
import type { RequestHead } from "../../shared/exchange.ts";
import { mayOperate } from "../../shared/identity.ts";
import {
  judgeHost,
  provenanceOf,
  type RequestParts,
} from "../../http/admit_request.ts";
import { addressOf } from "../../limits/limits.ts";
import { quote } from "../../shared/log.ts";
import type { Identity } from "../../shared/identity.ts";
import { ProblemError, problemOf } from "../../../shared/http.ts";
import type { Operator } from "../api.ts";
import {
  bearerToken,
  isOwnPage,
  isSameToken,
} from "../../../shared/authorization.ts";

/** The parts of a server that {@linkcode admitOperator} needs. */
export interface OperatorAdmission extends RequestParts {
  /** The token of an operator of all offices, besides. */
  readonly token: string | undefined;
}

/** Who shows the token of the server's own. */
const OWN: Identity = {
  principal: "operator",
  policy: { roles: ["operator"] },
};

/** An operator, and from where it asks. */
export interface AdmittedOperator extends Operator {
  /** With what it came. */
  readonly identity: Identity;
  /** Its network address. */
  readonly address: string;
}

/** Returns whether anybody can be an operator; otherwise there is no API. */
export const isOn = ({ token, authenticator }: OperatorAdmission): boolean =>
  token !== undefined || authenticator?.hasOperators?.() === true;

/**
 * Decides who sends a request, and whether it is an operator: by host, page and token, in this order. A
 * refusal is recorded, without the token.
 *
 * @throws {ProblemError} 401, 403
 */
export async function admitOperator(
  incoming: RequestHead,
  parts: OperatorAdmission,
): Promise<AdmittedOperator> {
  const address = addressOf(incoming, parts);
  const record = (code: number, reason: string, principal?: string) =>
    parts.limiter.recordRefusedHandshake("http", {
      ...{ code, reason, address },
      ...(principal !== undefined && { principal }),
    });
  checkName(incoming, parts);
  const page = provenanceOf(incoming);
  if (!isOwnPage(page, incoming.headers.host)) {
    const from = quote(page.origin ?? page.site ?? "");
    record(ErrorCode.FORBIDDEN, `Origin not allowed for operators (${from})`);
    throw problemOf(
      403,
      "Origin",
      "pages of other sites may not operate",
      "ask from no page, or from one of this Server",
    );
  }
  const identity = await identityOf(incoming, address, parts);
  if ("refused" in identity) {
    record(ErrorCode.UNAUTHORIZED, `operator: ${identity.refused}`);
    throw new ProblemError(
      401,
      [{
        field: "Authorization",
        problem: identity.shown ?? "it has no token that counts here",
        fix:
          "send Authorization: Bearer and an operator's API key, JWT, or the token that the Server printed",
      }],
      { "WWW-Authenticate": 'Bearer realm="operator"' },
    );
  }
  const { policy, principal } = identity;
  if (policy === undefined || !mayOperate(policy)) {
    record(ErrorCode.FORBIDDEN, "Not allowed to operate", principal);
    throw problemOf(
      403,
      "Authorization",
      "its holder is no operator",
      'add "operator" to the roles of the key, or to the claim role of the token',
    );
  }
  return { by: principal, policy, identity, address };
}

/**
 * Checks that a request asks for a name of this server.
 *
 * @throws {ProblemError} 403
 */
export function checkName(
  incoming: RequestHead,
  parts: RequestParts,
): void {
  if (judgeHost(incoming, parts)) {
    throw problemOf(
      403,
      "Host",
      "this Server has not that name",
      "use a name of it; its administrator names more with --hosts",
    );
  }
}

async function identityOf(
  { headers: { authorization } }: RequestHead,
  address: string,
  { authenticator, token }: OperatorAdmission,
): Promise<Identity | Refused> {
  const sent = bearerToken(authorization);
  if (sent === undefined) return { refused: "no token" };
  if (token !== undefined && isSameToken(sent, token)) return OWN;
  if (authenticator === undefined) return { refused: "unknown token" };
  // Of all headers and cookies only this one counts: pages of other sites cannot make a browser send it.
  return await authenticator.authenticate({
    headers: { authorization },
    auth: { token: sent },
    address,
  });
}
