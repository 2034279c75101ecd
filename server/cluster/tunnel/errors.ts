import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import type { Sent } from "../links/links.ts";

/** The error when the other node, or what connects the nodes, is not reached any more. */
export const unreachable = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "The server of this office cannot be reached now: try again",
    { fields: { reason: "node unreachable" } },
  );

/** The error for what was not sent to another node. */
export const notSent = (sent: Exclude<Sent, "sent">): ProtocolError =>
  sent === "away" ? unreachable() : new ProtocolError(
    ErrorCode.TOO_MANY_REQUESTS,
    "Too much waits for another server: try again later",
    { fields: { reason: "node busy" } },
  );
