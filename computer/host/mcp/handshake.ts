/**
 * The beginning of a connection: which revision of MCP the server speaks, and what it offers.
 *
 * A session comes first: servers until 2025-11-25 get nothing that they do not know, at which some of them
 * exit, and lose no time. `server/discover`, which servers since 2026-07-28 answer, is for one that refuses a
 * session, and for one over HTTP that keeps none: it could neither ask nor notify, as most of those of both
 * revisions can in the newer one alone. The latter gets it together with the end of its handshake, so that
 * it costs no time either.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/shared/protocol"
import { Protocol } from "@modelcontextprotocol/sdk/shared/protocol.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  InitializeResultSchema,
  LATEST_PROTOCOL_VERSION,
  McpError,
  type Notification,
  type Request,
  type Result,
  type ServerCapabilities,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import * as z from "zod";
import { UI_CAPABILITY, UI_EXTENSION } from "../../../protocol/mcp/apps.ts";
import { TASKS_CAPABILITY } from "../../../protocol/mcp/tasks.ts";
import { PROTOCOL_VERSION } from "../../../protocol/mod.ts";
import { isRecord } from "../../../protocol/names.ts";
import {
  readOffices,
  type RequestMeta,
  writeOffices,
} from "../../../protocol/payloads/request_meta.ts";
import { MAX_TIMER_MS } from "../../../shared/async.ts";
import { HandshakeError, mcpErrorCode, sdkFailure } from "./errors.ts";
import type { ClientConnectionOptions } from "./mcp_connection.ts";
import { OwnCalls } from "./own_calls.ts";

/** The first revision of MCP without sessions. */
const MODERN_VERSION = "2026-07-28";

const CLIENT_INFO = { name: "a2c-smcp-computer", version: PROTOCOL_VERSION };

/** Time for `server/discover`, which a server that does not know it may leave without an answer. */
const DISCOVER_TIMEOUT_MS = 5_000;

/** How many fields of an answer, and characters of what a server sent, an error names. */
const MAX_FIELDS = 5;
const MAX_QUOTED = 40;

/** Accepts any result: what is read of it is validated where it is read. */
export const anyResult = z.looseObject({});

/**
 * Requests and answers of the MCP SDK, for any revision: without its client, which knows sessions alone, and
 * loads a validator of schemas.
 */
export class Peer extends Protocol<Request, Notification, Result> {
  /** The calls of tools, beside the requests of the SDK; absent until it is connected. */
  calls: OwnCalls | undefined;

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport);
    this.calls = new OwnCalls(transport);
  }

  protected override assertCapabilityForMethod(): void {}
  protected override assertNotificationCapability(): void {}
  protected override assertRequestHandlerCapability(): void {}
  protected override assertTaskCapability(): void {}
  protected override assertTaskHandlerCapability(): void {}
}

/** What a server answered first. */
export interface Handshake {
  /** The capabilities that it declared. */
  readonly capabilities: ServerCapabilities;
  /** What it instructs models to. */
  readonly instructions?: string | undefined;
  /** Its name and version, as JSON. */
  readonly introduction: string;
  /** The ids of the offices that it leads to. */
  readonly offices: readonly string[];
  /** What each request to it has in `_meta` (2026-07-28); absent in a session. */
  readonly envelope?: RequestMeta;
}

/** What the Computer shows of itself, and how it waits. */
type Introduction = Pick<
  ClientConnectionOptions,
  "elicits" | "offices" | "keepsNoSession"
>;

/**
 * Finds out how a server is spoken to, and what it offers.
 *
 * @throws {HandshakeError} its answer is of no use
 * @throws the transport's error
 */
export async function shakeHands(
  peer: Peer,
  own: Introduction,
): Promise<Handshake> {
  let session: Handshake;
  try {
    session = await openSession(peer, own);
  } catch (error) {
    const isAnswer = error instanceof HandshakeError ||
      mcpErrorCode(error) !== undefined &&
        sdkFailure(error as Error) === undefined;
    const modern = isAnswer ? await discover(peer, own) : undefined;
    if (modern) return modern;
    throw error;
  }
  const begun = peer.notification({ method: "notifications/initialized" });
  if (!own.keepsNoSession?.()) {
    await begun;
    return session;
  }
  const [modern] = await Promise.all([discover(peer, own), begun]);
  return modern ?? session;
}

/** What the server may ask, and how it may answer. */
const capabilities = ({ elicits }: Introduction) => ({
  ...(elicits && { elicitation: { form: {}, url: {} } }),
  // Servers show their pages to clients alone that can pass them on.
  extensions: { [UI_EXTENSION]: UI_CAPABILITY },
});

async function openSession(peer: Peer, own: Introduction): Promise<Handshake> {
  const params = {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: capabilities(own),
    clientInfo: CLIENT_INFO,
    ...writeOffices(own.offices ?? []),
  };
  try {
    const answer = await peer.request(
      { method: "initialize", params },
      InitializeResultSchema,
      { timeout: MAX_TIMER_MS }, // without it the SDK has one of 60 s
    );
    const { protocolVersion, capabilities, instructions, serverInfo } = answer;
    if (!SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion)) {
      throw unusable(otherVersion(protocolVersion));
    }
    peer.transport?.setProtocolVersion?.(protocolVersion);
    return {
      capabilities,
      instructions,
      introduction: introductionOf(serverInfo),
      offices: readOffices(answer._meta),
    };
  } catch (error) {
    if (error instanceof z.core.$ZodError) {
      throw unusable(wrongFields(error), error);
    }
    const isAnswer = error instanceof McpError &&
      sdkFailure(error) === undefined;
    throw isAnswer ? unusable(`is an error: ${error.message}`, error) : error;
  }
}

/** @returns undefined for a server that does not speak 2026-07-28, as far as it answers in time */
async function discover(
  peer: Peer,
  own: Introduction,
): Promise<Handshake | undefined> {
  const asked = capabilities(own);
  const envelope: RequestMeta = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
    "io.modelcontextprotocol/clientCapabilities": {
      ...asked,
      extensions: { ...asked.extensions, ...TASKS_CAPABILITY },
    },
  };
  const _meta = { ...envelope, ...writeOffices(own.offices ?? [])._meta };
  try {
    const result = await peer.request(
      { method: "server/discover", params: { _meta } },
      anyResult,
      { timeout: DISCOVER_TIMEOUT_MS },
    );
    const { supportedVersions, capabilities, instructions } = result;
    const speaks = Array.isArray(supportedVersions) &&
      supportedVersions.includes(MODERN_VERSION);
    if (!speaks || !isRecord(capabilities)) return undefined;
    return {
      capabilities,
      ...(typeof instructions === "string" && { instructions }),
      introduction: introductionOf(result.serverInfo ?? named(result._meta)),
      offices: readOffices(result._meta),
      envelope,
    };
  } catch {
    return undefined;
  }
}

/** Returns what distinguishes one program from another. */
const introductionOf = (serverInfo: unknown): string => {
  const { name, version } = Object(serverInfo);
  return JSON.stringify([name, version]);
};

/** Where answers without a session may have it. */
const named = (meta: unknown): unknown =>
  Object(meta)["io.modelcontextprotocol/serverInfo"];

const unusable = (why: string, cause?: unknown): HandshakeError =>
  new HandshakeError(`its answer to "initialize" ${why}`, { cause });

const otherVersion = (version: string): string =>
  `has "protocolVersion": ${
    JSON.stringify(version.slice(0, MAX_QUOTED))
  }, which is not supported (supported: ${
    [MODERN_VERSION, ...SUPPORTED_PROTOCOL_VERSIONS].join(", ")
  }); install a version of it that speaks one of these`;

function wrongFields({ issues }: z.core.$ZodError): string {
  const fields = issues.slice(0, MAX_FIELDS).map(({ path, message }) => {
    const field = path.join(".").slice(0, MAX_QUOTED);
    return field === "" ? message : `"${field}": ${message}`;
  });
  return `is not valid: ${fields.join(", ")}`;
}
