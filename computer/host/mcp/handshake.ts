// @ts-types="@modelcontextprotocol/sdk/types"
import {
  McpError,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { HandshakeError, sdkFailure } from "./errors.ts";

/** The beginning of the MCP SDK's error for a version that it does not speak; a test compares it. */
const OTHER_VERSION = "Server's protocol version is not supported: ";
/** How many fields of an answer, and characters of what a server sent, an error names. */
const MAX_FIELDS = 5;
const MAX_QUOTED = 40;

/** Explains the MCP SDK's error for an answer to `initialize` with which no session can begin. */
export function refusedHandshake(cause: unknown): HandshakeError | undefined {
  const why = handshakeProblem(cause);
  if (why === undefined) return undefined;
  return new HandshakeError(`its answer to "initialize" ${why}`, { cause });
}

function handshakeProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  if (error instanceof z.core.$ZodError) return wrongFields(error);
  if (message.startsWith(OTHER_VERSION)) {
    return otherVersion(message.slice(OTHER_VERSION.length));
  }
  const isAnswer = error instanceof McpError && sdkFailure(error) === undefined;
  return isAnswer ? `is an error: ${message}` : undefined;
}

const otherVersion = (version: string): string =>
  `has "protocolVersion": ${
    JSON.stringify(version.slice(0, MAX_QUOTED))
  }, which is not supported (supported: ${
    SUPPORTED_PROTOCOL_VERSIONS.join(", ")
  }); install a version of it that speaks one of these`;

function wrongFields({ issues }: z.core.$ZodError): string {
  const fields = issues.slice(0, MAX_FIELDS).map(({ path, message }) => {
    const field = path.join(".").slice(0, MAX_QUOTED);
    return field === "" ? message : `"${field}": ${message}`;
  });
  return `is not valid: ${fields.join(", ")}`;
}
