import {
  type ClientEvent,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  READ_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import type { AuditedRead } from "../shared/audit.ts";
import type { Payload } from "../wire/mod.ts";

/** What a request reads. */
type DescribedRead = Pick<
  AuditedRead,
  "request" | "mcp_server" | "uri" | "prompt"
>;

/** The requests that are answered with contents, by the field that says which. */
const READS: Readonly<Partial<Record<ClientEvent, string>>> = {
  [GET_DESKTOP_EVENT]: "window",
  [GET_DPE_EVENT]: "uri",
  [READ_RESOURCE_EVENT]: "uri",
  [GET_PROMPT_EVENT]: "name",
};

/** Says what a request reads, for the audit log; `undefined` of a request that reads nothing. */
export function describeRead(
  event: ClientEvent,
  payload: Payload,
): DescribedRead | undefined {
  const field = READS[event];
  if (field === undefined) return undefined;
  const request = payload.peek() as Record<string, unknown>; // checked by now
  const { mcp_server, [field]: name } = request;
  return {
    request: event,
    ...(typeof mcp_server === "string" && { mcp_server }),
    ...(typeof name === "string" &&
      (event === GET_PROMPT_EVENT
        ? { prompt: name }
        : { uri: withoutSecrets(name) })),
  };
}

/** Cuts off what may hold credentials, as URLs of databases and signed ones do. */
const withoutSecrets = (uri: string): string =>
  uri.replace(/[?#].*$/s, "").replace(/^([^/]*:\/\/)[^/]*@/, "$1");
