import { join } from "node:path";
import type {
  AuthorizationRequest,
  ServerSettings,
  ServerState,
  SmcpComputer,
} from "../../../computer/mod.ts";
import type { OAuthClientParameters } from "../../../protocol/mod.ts";
import type { Control } from "../fixtures/oauth_server.ts";
import { scratch } from "../scratch.ts";
import { startComputer } from "./computer.ts";
import { AT_ONCE, type ONCE } from "./host.ts";
import { startOAuth } from "./oauth.ts";

/** The transports over HTTP. */
export const TYPES = ["streamable", "sse"] as const;

/** Arguments of a call of `echo`. */
export const HI = { text: "hi" };

/** Lists the tool in the configuration, so that it is known before the first start. */
export const settings = (
  type: typeof TYPES[number],
  url: string,
  parameters: {
    headers?: Record<string, string>;
    oauth?: OAuthClientParameters;
  } = {},
): ServerSettings & { type: typeof TYPES[number] } => ({
  type,
  server_parameters: { url, ...parameters },
  tool_meta: { echo: { auto_apply: true } },
});

/** An MCP server behind OAuth, a user whose answers the test controls, and Computers of both. */
export async function startGuarded(
  control: Control = {},
  type: typeof TYPES[number] = "streamable",
  oauth?: OAuthClientParameters,
) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startOAuth());
  const folder = stack.use(await scratch());
  await server.control(control);
  const directory = join(folder.path, "state", "oauth");
  const url = `${server.origin}/${type === "sse" ? "sse" : "mcp"}`;
  const config = settings(type, url, { ...(oauth && { oauth }) });
  const asked: AuthorizationRequest[] = [];
  let wake = () => {};
  const authorize = (request: AuthorizationRequest) => {
    asked.push(request);
    wake();
  };
  const ended = stack.move();
  return {
    ...server,
    directory,
    config,
    /** Requests to the user that were not taken yet. */
    asked,
    /** Resolves with the next of them. */
    request: async (): Promise<AuthorizationRequest> => {
      while (asked.length === 0) await new Promise<void>((r) => wake = r);
      return asked.shift()!;
    },
    begin: (restart: typeof ONCE = AT_ONCE, a: ServerSettings = config) =>
      startComputer({ a }, { restart, oauth: { directory, authorize } }),
    /** What is stored. */
    saved: async (): Promise<Record<string, Record<string, unknown>>> => {
      const [file] = [...Deno.readDirSync(directory)];
      return JSON.parse(await Deno.readTextFile(join(directory, file!.name)));
    },
    [Symbol.asyncDispose]: () => ended.disposeAsync(),
  };
}

/** Resolves once the MCP server satisfies a condition. */
function until(
  computer: SmcpComputer,
  wanted: (state?: ServerState) => boolean,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = () => wanted(computer.status().servers[0]?.state) && resolve();
  computer.on("serverState", check);
  check();
  return promise;
}

/** Resolves when the MCP server runs. */
export const running = (computer: SmcpComputer): Promise<void> =>
  until(computer, (state) => state === "running");

/** Resolves when the MCP server does not run. */
export const lost = (computer: SmcpComputer): Promise<void> =>
  until(computer, (state) => state !== "running");
