import { SdkHttpError } from "@modelcontextprotocol/client";
import { messageOf } from "../tools/result.ts";

/** What a person does about a status, where the Server's own words do not say it. */
const REMEDIES: Readonly<Record<number, string>> = {
  401:
    "give a key that the Server knows with --api-key (SMCP_API_KEY), or a valid token with --token (SMCP_TOKEN)",
  403: "ask the Server's operator to allow it",
};

/** Codes of the operating system, in words. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "nobody listens there; start a Server, or correct the address with --url",
  ECONNRESET: "the connection ended before the answer",
  ENOTFOUND: "there is no such host; correct the address with --url",
  ETIMEDOUT: "it does not answer",
};

/** The code of an error of the operating system, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(error);
  if (typeof code === "string" && error instanceof Error) return code;
  return cause === undefined ? undefined : codeOf(cause);
}

/** Says in one sentence why a request to the Server failed, and what to do. */
export function explain(url: URL, error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { text } = error.data;
    const body = typeof text === "string" ? text : "";
    return explainStatus(url, error.status, body);
  }
  const why = NETWORK[codeOf(error) ?? ""] ?? messageOf(error);
  return `Cannot reach the Server at ${url.origin}: ${why}`;
}

/** Says why the Server refused a request, by its status and the body of its answer. */
export function explainStatus(url: URL, status: number, body: string): string {
  const said = messageIn(body) ?? `HTTP status ${status} from ${url.origin}`;
  const remedy = REMEDIES[status];
  return remedy === undefined ? said : `${said}; ${remedy}`;
}

/** The message of an error of JSON-RPC, or of one of the Server's own. */
function messageIn(body: string): string | undefined {
  try {
    const { error, message }: { error?: unknown; message?: unknown } = Object(
      JSON.parse(body),
    );
    const text = Object(error).message ?? message;
    return typeof text === "string" && text !== "" ? text : undefined;
  } catch {
    return undefined;
  }
}
