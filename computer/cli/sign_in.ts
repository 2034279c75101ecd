/**
 * The commands `sign-in` and `sign-out`: OAuth with one MCP server of a configuration, without the
 * others and without a Server.
 *
 * A sign-in is what a Computer does when it starts the MCP server, and ends when the MCP server has
 * taken the new token.
 *
 * @module
 */
import process from "node:process";
import { print } from "../../cli/print.ts";
import { StoppedError, UsageError } from "../../cli/run.ts";
import { firstSignal } from "../../cli/signals.ts";
import { plain } from "../../cli/terminal_text.ts";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { abortable } from "../../shared/async.ts";
import { bundleIdOf } from "../config/config.ts";
import { prepareConfig } from "../config/fill_inputs.ts";
import { InputStore } from "../config/input_store.ts";
import { connectMcp } from "../host/mcp/connect.ts";
import { DEFAULT_MESSAGE_BYTES } from "../host/mcp/errors.ts";
import { fetchWithTimeouts } from "../host/mcp/limited_fetch.ts";
import { type HttpConfig, httpTimeouts } from "../host/mcp/http.ts";
import { OAuthSession } from "../host/oauth/authorizations.ts";
import { AuthorizationError } from "../host/oauth/authorized_fetch.ts";
import { guardSecrets, secretsIn } from "../util/secrets.ts";
import {
  hintFor,
  type HostFlags,
  loadHostConfig,
  person,
  showSignIn,
} from "./make_computer.ts";
import { plainView } from "./screen.ts";

/** The flags of `sign-in` and `sign-out`. */
interface SignInFlags extends Pick<HostFlags, "oauthDir" | "input"> {
  /** The configuration file. */
  config: string;
}

/** An MCP server of the configuration, and its authorization. */
interface Target {
  readonly config: HttpConfig;
  /** Its name as it is printed. */
  readonly name: string;
  readonly session: OAuthSession;
}

/** Signs in to an MCP server, unless that is done; waits for the browser. */
export const signIn = (server: string, flags: SignInFlags): Promise<void> =>
  withTarget(server, flags, async ({ config, name, session }, signal) => {
    const connect = async () => {
      const connection = await connectMcp(config, signal, {
        authorizer: () => session,
        secrets: () => session.secrets,
      });
      await connection.close();
    };
    try {
      await connect();
      const hasToken = await session.token() !== undefined;
      print(
        hasToken
          ? `${name}: signed in already; to sign in as another user, use sign-out first`
          : `${name}: it needs no sign-in`,
      );
      return;
    } catch (error) {
      if (!session.isAsking) throw error;
    }
    await abortable(session.settled(), signal);
    await connect();
    print(`${name}: signed in`);
  });

/** Revokes the tokens for an MCP server where it can, and removes them with the registration. */
export const signOut = (server: string, flags: SignInFlags): Promise<void> =>
  withTarget(server, flags, async ({ config, name, session }) => {
    const fetch = fetchWithTimeouts(
      httpTimeouts(config.server_parameters),
      DEFAULT_MESSAGE_BYTES,
    );
    const revocation = await session.signOut(fetch);
    if (revocation === undefined) {
      print(`${name}: was not signed in`);
      return;
    }
    print(`${name}: signed out; tokens and registration are removed here`);
    print(
      revocation === "revoked"
        ? "Its authorization server revoked the tokens."
        : revocation === "unsupported"
        ? "Its authorization server cannot revoke tokens: they end when they expire."
        : `Its authorization server did not revoke the tokens (${
          plain(revocation.reason)
        }): they end when they expire.`,
    );
  });

/** Runs work with an MCP server of a configuration, until a signal arrives. */
async function withTarget(
  server: string,
  { config: file, oauthDir, input }: SignInFlags,
  work: (target: Target, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { inputs, servers } = await loadHostConfig(file, input);
  const found = findServer(server, servers, file);
  const stop = new AbortController();
  const view = plainView(print);
  const values = new InputStore(inputs, {
    values: input,
    environment: process.env,
    ask: person(() => view)?.askInput,
  });
  let session: OAuthSession | undefined;
  const guard = guardSecrets(() => [
    ...values.secrets,
    ...secretsIn(found),
    ...session?.secrets ?? [],
  ]);
  void firstSignal().then(({ exitCode }) =>
    stop.abort(new StoppedError("stopped before the end", exitCode))
  );
  try {
    const { signal } = stop;
    // Of the same type as before, with its inputs.
    const config = await prepareConfig(found, values, signal) as HttpConfig;
    session = new OAuthSession({
      server: config.name,
      place: config.server_parameters,
      oauth: {
        directory: oauthDir,
        authorize: (request) => showSignIn(request, print),
      },
      authorized: () => {},
    });
    await work({ config, name: plain(config.name), session }, signal);
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    throw new Error(`${found.name}: ${error.message}`, { cause: error });
  } finally {
    await session?.close();
    values.close();
    guard[Symbol.dispose]();
  }
}

/** @throws {UsageError} for a name that there is not, or of an MCP server without sign-in */
function findServer(
  wanted: string,
  servers: readonly MCPServerConfig[],
  file: string,
): HttpConfig {
  const found = servers.find(({ name }) => name === wanted) ??
    servers.find((server) => bundleIdOf(server) === wanted);
  if (!found) {
    const hint = hintFor(wanted, servers.map(({ name }) => name), "none");
    throw new UsageError(`${file} has no MCP server "${wanted}"; ${hint}`);
  }
  if (found.type === "stdio") {
    throw new UsageError(
      `"${found.name}" is a program on this machine ("stdio"); only MCP servers over HTTP have a sign-in`,
    );
  }
  const { headers } = found.server_parameters;
  const own = Object.keys(headers ?? {})
    .find((name) => name.toLowerCase() === "authorization");
  if (own === undefined) return found;
  throw new UsageError(
    `"${found.name}" has the header "${own}" in its configuration, which is used in place of a sign-in; remove that to sign in`,
  );
}
