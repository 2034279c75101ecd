import { Command } from "commander";
import process from "node:process";
import { bannerLines } from "../../cli/clients.ts";
import { print } from "../../cli/print.ts";
import {
  type ClusterFlags,
  clusterOptions,
  type ClusterSettings,
  readCluster,
} from "../../cli/cluster_flags.ts";
import {
  addHelp,
  integer,
  newOperatorToken,
  operatorLines,
  operatorOption,
  publicUrlOption,
} from "../../cli/flags.ts";
import { describeFailure } from "../../client/errors.ts";
import { isRecord } from "../../protocol/names.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import { listenOrExplain } from "../../cli/listen.ts";
import { commandHint, ownCommand } from "../../cli/own_command.ts";
import { reporting, runCommand, UsageError } from "../../cli/run.ts";
import { protocolOption } from "../../cli/server_flags.ts";
import { plain } from "../../cli/terminal_text.ts";
import { describeVersions } from "../../cli/version.ts";
import {
  addOptions,
  officeFlag,
  option,
  servingFlags,
  viewFlags,
} from "./flags.ts";
import { loadHostConfig } from "./make_computer.ts";
import { host, type RunFlags } from "./run.ts";
import { statePath } from "../util/defaults.ts";

/** The part of a Server that `up` needs; a Computer must not import the role itself. */
interface EmbeddedServer {
  /** The key that clients need, where they need one: its text when it was made now, and the file with its hash. */
  readonly key?: { readonly file: string; readonly text?: string };
  /** Listens and returns the URL. */
  listen(
    address: { hostname: string; port: number },
  ): Promise<{ readonly url: string }>;
  /** Connects the Computer within the process. */
  connect(
    options: { readonly protocol?: InProcessConnection["protocol"] },
  ): InProcessConnection;
  /** Disconnects all clients. */
  close(): Promise<void>;
}

/** Creates the Server of `up`, which serves MCP at `/mcp/OFFICE` or not, alone or in a cluster. */
export type CreateServer = (
  options: {
    readonly mcp: boolean;
    /** Whether people sign in to it. */
    readonly signIn: boolean;
    /** Whether persons answer the questions of this machine's Computer from devices. */
    readonly approvals: boolean;
    /** The token of its operators; false without operators. */
    readonly operator: false | { readonly token: string };
    /** The office of its Computer. */
    readonly office: string;
    /** The port that it will listen on, or 0. */
    readonly port: number;
    /** The URL by which clients reach it, other than that of its port. */
    readonly publicUrl: string | undefined;
    readonly clustering: ClusterSettings | undefined;
    /** The folder that keeps the key and the sign-ins. */
    readonly folder: string;
  },
) => Promise<EmbeddedServer>;

/** The flags of `up`. */
interface UpFlags extends Omit<RunFlags, "url" | "path">, ClusterFlags {
  port: number;
  publicUrl?: string;
  signIn?: boolean;
  approvals?: boolean;
  mcp: boolean;
  operator: boolean;
}

/** The address of `up`: others reach it by a tunnel or proxy, which brings TLS. */
const LOOPBACK_HOST = "127.0.0.1";

/**
 * Runs the command `up`: a Server and this machine's Computer in one process.
 *
 * @param createServer creates the Server
 * @param args what follows `smcp up`
 * @returns the exit code
 */
export const runUp = (
  createServer: CreateServer,
  args: readonly string[],
): Promise<number> =>
  runCommand(() => upCommand(createServer), ["up", ...args]);

/** Makes `smcp` with the command `up` alone. */
export function upCommand(createServer: CreateServer): Command {
  const program = reporting(new Command("smcp"), process.env)
    .version(describeVersions())
    .addHelpText("afterAll", commandHint("smcp", process.execPath));
  const command = addHelp(
    program.command("up"),
    "Serve the MCP servers of a configuration to agents here",
    [
      "smcp up --config computer.json",
      "smcp clients   # how each MCP client is connected to it",
      "smcp up --config claude_desktop_config.json --office demo --yes",
      "smcp up --config computer.json --sign-in --public-url https://smcp.example.com",
    ],
  );
  addOptions(
    command,
    ...clusterOptions(),
    ...servingFlags(),
    ...viewFlags(),
    officeFlag(false).default("home"),
    option("--port <number>", "port to listen on, 0 for any free one")
      .argParser(integer(0, 65535)).default(8787),
    publicUrlOption("; clients need a key then, which is made once"),
    option(
      "--sign-in",
      "let MCP clients sign in with that key in a browser, so that they need nothing but the URL; all else needs the key",
    ),
    option(
      "--approvals",
      "let paired devices answer this Computer's questions, at /approve; those elsewhere need --public-url",
    ),
    protocolOption(command),
    option(
      "--no-mcp",
      "serve no MCP at /mcp/OFFICE: tools are for agents of A2C-SMCP alone",
    ),
    operatorOption("who has the token that is printed"),
  )
    .action((flags: UpFlags) => up(createServer, flags));
  return program;
}

async function up(createServer: CreateServer, flags: UpFlags): Promise<void> {
  const { mcp, office, port, protocol, publicUrl, signIn = false } = flags;
  if (signIn && !mcp) {
    throw new UsageError("--sign-in is for MCP: leave out --no-mcp");
  }
  const config = await loadHostConfig(flags.config, flags.input); // before anything starts
  const clustering = readCluster(flags, process.env);
  const operator = flags.operator && { token: newOperatorToken() };
  const server = await createServer({
    mcp,
    signIn,
    approvals: flags.approvals === true,
    operator,
    office,
    port,
    publicUrl,
    clustering,
    folder: statePath(process.env, "up"),
  });
  const { key } = server;
  try {
    const address = { hostname: LOOPBACK_HOST, port };
    const { url } = await listenOrExplain(
      () => server.listen(address),
      address,
    );
    const access = signIn ? "sign-in" : key ? "key" : "open";
    const own = { url, publicUrl, office, protocol, access } as const;
    bannerLines(own, mcp).forEach(print);
    if (key) print(keyLine(key));
    if (operator) print(operatorLines(publicUrl ?? url, operator.token));
    if (flags.approvals) print(approvalsLine(publicUrl ?? url));
    if (publicUrl !== undefined) print(await whetherReached(publicUrl, url));
    const connection = server.connect(isNamed(protocol) ? { protocol } : {});
    await host({ ...flags, url, path: "/smcp/", connection }, config);
  } finally {
    await server.close();
  }
}

/** Shows the key when it is made, and later where its hash is. */
function keyLine({ text, file }: NonNullable<EmbeddedServer["key"]>): string {
  const renew = `delete ${plain(file)} and start again for a new one`;
  return text === undefined
    ? `Key: as it was shown when it was made; ${renew}, which ends all sign-ins`
    : `Key: ${text}\n(shown once; ${renew})`;
}

/** Shows how a phone comes to answer. */
const approvalsLine = (url: string): string =>
  `Approvals: ${url.replace(/\/+$/, "")}/approve; to pair a phone: ${
    ownCommand("smcp-computer", process.execPath)
  } pair`;

/** How long the public URL has to answer. */
const REACH_TIMEOUT_MS = 3000;

/** Asks at the public URL, and shows what it lacks to lead here. */
async function whetherReached(publicUrl: string, url: string): Promise<string> {
  const lead = `Not reachable at ${publicUrl} yet`;
  const remedy =
    `let a tunnel, or a proxy with TLS such as Caddy, lead it to ${url} (docs/mcp.md)`;
  try {
    const answer = await fetch(`${publicUrl}/health`, {
      redirect: "manual",
      signal: AbortSignal.timeout(REACH_TIMEOUT_MS),
    });
    const health: unknown = await answer.json().catch(() => undefined);
    return isRecord(health) && "protocol_version" in health
      ? `Reachable at ${publicUrl}`
      : `${lead}: something else answers there (${answer.status}); ${remedy}`;
  } catch (error) {
    return `${lead}: ${
      plain(describeFailure(Object(error).cause ?? error).text)
    }; ${remedy}`;
  }
}

/** Returns whether agents have to name the version too, since the Server of `up` serves all. */
const isNamed = <P extends string>(
  protocol: P | "auto" | undefined,
): protocol is P => protocol !== undefined && protocol !== "auto";
