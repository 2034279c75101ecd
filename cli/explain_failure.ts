import { ProtocolVersionError } from "../protocol/errors/connect_error.ts";
import { ConnectionError } from "../client/errors.ts";
import { reasonOf } from "../client/reason.ts";
import { ErrorCode, ProtocolError } from "../protocol/errors/protocol_error.ts";

/** What a person can do about a code of the protocol, in words of the command line. */
const REMEDIES: Readonly<Record<number, string>> = {
  [ErrorCode.UNAUTHORIZED]:
    "give a key that the Server knows with --api-key (SMCP_API_KEY), or a valid token with --token (SMCP_TOKEN)",
  [ErrorCode.FORBIDDEN]: "ask the Server's operator to allow it",
  [ErrorCode.TIMEOUT]: "the Computer may be overloaded: try again",
  [ErrorCode.TOO_MANY_REQUESTS]: "wait a moment, and ask for less at a time",
  [ErrorCode.INTERNAL_ERROR]: "its operator finds the cause in its log",
  [ErrorCode.DPE_RESOLVER_NOT_CONFIGURED]:
    "start the Computer with --dpe-dir, or register a resolver in its code",
  [ErrorCode.INVALID_DPE_URI]:
    "take a URI such as dpe://HOST/DOCUMENT from the list of documents",
  [ErrorCode.NOT_IN_ROOM]: "the connection was lost meanwhile: try again",
};

/** Why nobody could be reached, by the code of the operating system or of TLS. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "nobody listens there; start a Server, or correct the address with --url",
  ENOTFOUND: "there is no such host; correct the address with --url",
  EAI_AGAIN:
    "the name of the host cannot be looked up; is this machine connected to a network?",
  ETIMEDOUT: "it does not answer; is a firewall in between?",
  EHOSTUNREACH: "there is no way to it; is this machine on the right network?",
  ECONNRESET: "it hung up; does it speak http, or https?",
};

/** What Node and Deno say when a server answers TLS with something else. */
const NOT_TLS = /WRONG_VERSION_NUMBER|EPROTO|InvalidContentType/;

/** Refusals of a join, as Servers word them, and what to do about each. */
const JOIN_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /already has an agent/i,
    "a Server does not tell outsiders who; stop that agent, or join another office with --office",
  ],
  [/already exists/i, "choose another name with --name"],
  [/full/i, "leave some other member out, or ask the Server's operator"],
  [
    /not allowed|may not|forbidden/i,
    "join as what your key or token allows, with --office and --name",
  ],
];

/** Explains an error in one line, with what to do about it; never a stack trace. */
export function explainFailure(error: unknown): string {
  if (error instanceof ProtocolVersionError) return error.message;
  if (error instanceof ProtocolError) {
    return withRemedy(
      error.message,
      error.code === ErrorCode.NOT_FOUND
        ? remedyOfNotFound(error.message)
        : REMEDIES[error.code],
    );
  }
  if (!(error instanceof ConnectionError)) return reasonOf(error);
  if (error.code === "unreachable") return explainUnreachable(error);
  if (error.code === "tls") {
    return error.message.replaceAll(/\btls\.(cert|key|ca)\b/g, "--tls-$1");
  }
  if (error.code === "too_large") {
    return withRemedy(
      error.message,
      "send less at a time, or ask the Server's operator for more with --max-message-bytes",
    );
  }
  if (error.code !== "refused") return error.message;
  const known = JOIN_REMEDIES.find(([words]) => words.test(error.message));
  return withRemedy(error.message, known?.[1]);
}

/** A Server says the same of an HTTP path and of a Computer that are not there. */
function remedyOfNotFound(message: string): string | undefined {
  if (/^Computer /.test(message)) {
    return 'the command "members" lists who is there; name one of them with --computer';
  }
  return message === "Not found"
    ? "correct --url, or the path with --path"
    : undefined;
}

function explainUnreachable(error: ConnectionError): string {
  const [where = error.message] = error.message.split(/: (?!\/\/)/, 1);
  const { code, permission } = traces(error.cause);
  if (permission !== undefined) return `${where}: ${permission}`;
  if (error.message.includes("is no A2C-SMCP server")) {
    return `${error.message}; correct --url, or the path with --path`;
  }
  if (code !== undefined && NOT_TLS.test(code)) {
    return `${where}: it does not speak TLS there; write http:// instead of https://`;
  }
  const why = code === undefined ? undefined : NETWORK[code];
  return why === undefined ? error.message : `${where}: ${why}`;
}

/** Finds the system's code and a missing permission in what Socket.IO says about a failed request. */
function traces(
  cause: unknown,
): { code?: string; permission?: string } {
  if (typeof cause !== "object" || cause === null) return {};
  const { context, description }: {
    context?: { statusText?: unknown; responseText?: unknown };
    description?: unknown;
  } = cause;
  const text = [context?.statusText, context?.responseText, description]
    .map((part) => part instanceof Error ? `${codeIn(part)} ${part}` : part)
    .filter((part) => typeof part === "string").join(" ");
  const [code] = text.match(
    /\bE[A-Z_]{4,}\b|InvalidContentType/,
  ) ?? [];
  const [permission] = text.match(/Requires net access.*flag/) ?? []; // of Deno
  return {
    ...(permission !== undefined && { permission }),
    ...(code !== undefined && { code }),
  };
}

const codeIn = (error: Error & { code?: unknown }): string =>
  typeof error.code === "string" ? error.code : "";

const withRemedy = (message: string, remedy: string | undefined): string =>
  remedy === undefined ? message : `${message}; ${remedy}`;
