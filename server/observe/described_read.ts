import {
  type ClientEvent,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_SKILL_EVENT,
  READ_RESOURCE_EVENT,
} from "../../protocol/mod.ts";
import type { AuditedRead } from "../shared/audit.ts";
import type { Payload } from "../wire/mod.ts";

/** The fields of an audit line that say what was read. */
type ReadField = "mcp_server" | "uri" | "prompt" | "skill" | "path";

/** What a request reads. */
type DescribedRead = Pick<AuditedRead, "request" | ReadField>;

/** The requests that are answered with contents: the fields that say which, with theirs of the audit log. */
const READS: Readonly<
  Partial<Record<ClientEvent, readonly [string, ReadField][]>>
> = {
  [GET_DESKTOP_EVENT]: [["window", "uri"]],
  [GET_DPE_EVENT]: [["uri", "uri"]],
  [READ_RESOURCE_EVENT]: [["mcp_server", "mcp_server"], ["uri", "uri"]],
  [GET_PROMPT_EVENT]: [["mcp_server", "mcp_server"], ["name", "prompt"]],
  [GET_SKILL_EVENT]: [["name", "skill"], ["rel_path", "path"]],
};

/** Says what a request reads, for the audit log; `undefined` of a request that reads nothing. */
export function describeRead(
  event: ClientEvent,
  payload: Payload,
): DescribedRead | undefined {
  const fields = READS[event];
  if (fields === undefined) return undefined;
  const request = payload.peek() as Record<string, unknown>; // checked by now
  const described: { -readonly [F in keyof DescribedRead]: DescribedRead[F] } =
    { request: event };
  for (const [field, shown] of fields) {
    const value = request[field];
    if (typeof value !== "string" || value === "") continue;
    described[shown] = shown === "uri" ? withoutSecrets(value) : value;
  }
  return described;
}

/** Cuts off what may hold credentials, as URLs of databases and signed ones do. */
const withoutSecrets = (uri: string): string =>
  uri.replace(/[?#].*$/s, "").replace(/^([^/]*:\/\/)[^/]*@/, "$1");
