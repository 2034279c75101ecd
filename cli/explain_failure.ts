import {
  codeOf,
  ConnectionError,
  describeFailure,
  isDenied,
  reasonOf,
} from "../client/errors.ts";
import {
  ErrorCode,
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";
import {
  CREDENTIAL_REMEDIES,
  NETWORK_REMEDIES,
} from "../shared/net/remedies.ts";

/** Remedies for error codes of the protocol, in terms of the command line. */
const REMEDIES: Readonly<Record<number, string>> = {
  ...CREDENTIAL_REMEDIES,
  [ErrorCode.TIMEOUT]: "the Computer may be overloaded: try again",
  [ErrorCode.TOO_MANY_REQUESTS]: "wait a moment, and ask for less at a time",
  [ErrorCode.INTERNAL_ERROR]: "its log has the cause",
  [ErrorCode.DPE_RESOLVER_NOT_CONFIGURED]:
    "start the Computer with --dpe-dir, or register a resolver in its code",
  [ErrorCode.INVALID_DPE_URI]:
    "take a URI such as dpe://HOST/DOCUMENT from the list of documents",
  [ErrorCode.NOT_IN_ROOM]: "the connection was lost meanwhile: try again",
};

/** Returns whether a request failed since nothing listens at its address. */
export const isNothingThere = (error: unknown): boolean =>
  error instanceof ConnectionError && codeOf(error.cause) === "ECONNREFUSED";

/** Causes and remedies of failed reads, by the code of the operating system; `NotCapable` of Deno. */
const READS: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read flag",
  ENOENT: "there is no such file",
  EACCES: "this user may not read it",
  EISDIR: "it is a directory; name a file in it",
};

/** Returns the code of an error of the file system; `NotCapable` where Deno denied access. */
export function fileErrorCode(error: unknown): string {
  const { name, code }: { name?: unknown; code?: unknown } = Object(error);
  return name === "NotCapable" ? name : String(code);
}

/** Explains why a file cannot be read; `undefined` for an unknown cause. */
export const whyUnreadable = (error: unknown): string | undefined =>
  READS[fileErrorCode(error)];

/** Those of failed writes. */
const WRITES: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read and --allow-write flags",
  ENOENT: "there is no such directory; create it",
  ENOTDIR: "a part of its path is a file; correct that",
  EEXIST: "a part of its path is a file; correct that", // of mkdir
  EACCES: "no permission; allow this user to write there",
  EPERM: "no permission; allow this user to write there",
  EISDIR: "it is a directory; name a file in it",
  EROFS: "it is on a disk that is read-only; make that writable",
  ENAMETOOLONG: "its name is too long; shorten it",
  ENOSPC: "the disk is full; make room",
};

/**
 * Explains why a file cannot be written.
 *
 * @param file for people
 * @param flag that names it
 * @returns the error itself if it is none of the file system
 */
export function unwritable(
  error: unknown,
  file: string,
  flag: string,
): unknown {
  const why = WRITES[fileErrorCode(error)];
  return why === undefined ? error : new Error(
    `cannot write ${file}: ${why}, or choose another with ${flag}`,
    { cause: error },
  );
}

/** Explains an error in one line with its remedy; never a stack trace. */
export function explainFailure(error: unknown): string {
  const text = explain(error);
  // A message of a Server, a Computer or a proxy must not pass as lines of ours.
  return error instanceof ProtocolError || error instanceof ConnectionError
    ? text.replaceAll(/\s*[\r\n]\s*/g, " ")
    : text;
}

function explain(error: unknown): string {
  if (error instanceof ProtocolVersionError) return error.message;
  if (error instanceof ProtocolError) {
    return withRemedy(
      error.message,
      error.code === ErrorCode.NOT_FOUND
        ? remedyOfNotFound(error)
        : REMEDIES[error.code],
    );
  }
  if (!(error instanceof ConnectionError)) return reasonOf(error);
  if (error.code === "unreachable") return explainUnreachable(error);
  if (error.code === "tls" || error.code === "proxy") {
    return error.message.replaceAll(/\btls\.(cert|key|ca)\b/g, "--tls-$1");
  }
  if (error.code === "too_large") {
    return withRemedy(
      error.message,
      "send less at a time, or ask the Server's operator for more with --max-message-bytes",
    );
  }
  if (error.code !== "refused") return error.message;
  return withRemedy(error.message, joinRemedy(error.message));
}

/** Finds the remedy of a 404: of an HTTP path it has no fields, of a Computer its name. */
const remedyOfNotFound = ({ fields }: ProtocolError): string | undefined =>
  typeof fields.computer === "string"
    ? 'the command "members" lists the Computers; name one with --computer'
    : typeof fields.mcp_server === "string" && fields.reason === undefined
    ? 'the command "config" lists the MCP servers'
    : Object.keys(fields).length === 0
    ? "correct --url, or the path with --path"
    : undefined;

/** Explains why no Server was reached; unknown causes keep the message of the client. */
function explainUnreachable({ message, cause }: ConnectionError): string {
  const { text, from } = describeFailure(cause);
  const [where] = message.split(`: ${text}`, 1);
  if (from === "stranger") {
    return `${message}; correct --url, or the path with --path`;
  }
  if (isDenied(cause)) return `${where}: ${text}`;
  const why = NETWORK_REMEDIES[codeOf(cause) ?? ""];
  return why === undefined ? message : `${where}: ${why}`;
}

const withRemedy = (message: string, remedy: string | undefined): string =>
  remedy === undefined ? message : `${message}; ${remedy}`;

const CREDENTIALS =
  "a key with --api-key (SMCP_API_KEY), or a token with --token (SMCP_TOKEN),";

/** The wordings of refused joins, as patterns in either case, each with its remedy. */
const JOIN_REMEDIES: Readonly<Record<string, string>> = {
  "already has an agent: .*MCP clients":
    "try again then, or join another office with --office",
  "already has an agent: ":
    "stop that agent, or join another office with --office",
  "already has an agent":
    "only its members can see which one; stop that agent, or join another office with --office",
  "already exists": "choose another name with --name",
  "full": "remove another member, or ask the Server's operator",
  "not allowed to join as agent":
    `smcp-agent joins as agent: give ${CREDENTIALS} of an agent`,
  "not allowed to join as computer":
    `smcp-computer joins as computer: give ${CREDENTIALS} of a computer`,
  "not allowed to join this office":
    `choose an office that your key or token allows with --office (SMCP_OFFICE), or give ${CREDENTIALS} for this one`,
  "not allowed to join under the name":
    `choose a name that your key or token allows with --name (SMCP_NAME), or give ${CREDENTIALS} for this one`,
  "not allowed|may not|forbidden":
    "join as what your key or token allows, with --office and --name",
};

/**
 * Finds the remedy of a refused join.
 *
 * This goes by the wording, since the protocol answers a join with a sentence and no code
 * (docs/protocol.md, §3).
 */
export const joinRemedy = (reason: string): string | undefined =>
  Object.entries(JOIN_REMEDIES)
    .find(([wording]) => RegExp(wording, "i").test(reason))?.[1];
