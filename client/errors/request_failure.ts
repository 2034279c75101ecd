/**
 * Extracts the reason of a failed request from an error of Socket.IO, whose message ("xhr poll error")
 * does not tell it.
 *
 * @module
 */

/** Why a request failed, in short; `from` says who answered instead of an A2C-SMCP server, if anybody. */
export interface RequestFailure {
  readonly text: string;
  readonly from?: "proxy" | "stranger";
}

/** Returns the error of the system, of TLS or of the runtime below an error of either transport. */
export const systemError = (cause: unknown): unknown =>
  at(cause, "context", "statusText") ??
    at(cause, "description", "error") ??
    at(cause, "description");

/** Returns the underlying error code of the system or TLS, over either transport. */
export const codeOf = (cause: unknown): string | undefined =>
  text(at(systemError(cause), "code"));

/** Returns whether Deno lacks the permission for a request. */
export function isDenied(cause: unknown): boolean {
  const below = systemError(cause);
  return below instanceof Error && below.name === "NotCapable";
}

/** Describes why a request failed. */
export function describeFailure(cause: unknown): RequestFailure {
  const status = Number(at(cause, "description"));
  if (status >= 502 && status <= 504) {
    return {
      from: "proxy",
      text: `HTTP ${status}, of a proxy that does not reach its Server`,
    };
  }
  if (
    status > 0 || isUnreadable(cause) || /^HPE_/.test(codeOf(cause) ?? "")
  ) {
    return {
      from: "stranger",
      text: `what answers there is no A2C-SMCP server${
        status > 0 ? ` (HTTP ${status})` : ""
      }`,
    };
  }
  return {
    text: text(at(systemError(cause), "message")) ??
      text(at(cause, "message")) ?? String(cause),
  };
}

/** Checks for an answer that is not of Engine.IO: its client has only these messages for that. */
const isUnreadable = (cause: unknown): boolean =>
  /^(server|parse) error$/.test(String(at(cause, "message")));

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const at = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );
