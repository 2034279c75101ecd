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
import type { InProcessConnection } from "../../shared/in_process.ts";
import { listenOrExplain } from "../../cli/listen.ts";
import { commandHint } from "../../cli/own_command.ts";
import { reporting, runCommand } from "../../cli/run.ts";
import { protocolOption } from "../../cli/server_flags.ts";
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

/** The part of a Server that `up` needs; a Computer must not import the role itself. */
interface EmbeddedServer {
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
    /** The token of its operators; false without operators. */
    readonly operator: false | { readonly token: string };
    /** The URL by which clients reach it, other than that of its port. */
    readonly publicUrl: string | undefined;
    readonly clustering: ClusterSettings | undefined;
  },
) => Promise<EmbeddedServer>;

/** The flags of `up`. */
interface UpFlags extends Omit<RunFlags, "url" | "path">, ClusterFlags {
  port: number;
  publicUrl?: string;
  mcp: boolean;
  operator: boolean;
}

/** The address of `up`: it must stay local, since there is no authentication. */
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
    publicUrlOption(),
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
  const { mcp, office, port, protocol, publicUrl } = flags;
  const config = await loadHostConfig(flags.config, flags.input); // before anything starts
  const clustering = readCluster(flags, process.env);
  const operator = flags.operator && { token: newOperatorToken() };
  const server = await createServer({ mcp, clustering, operator, publicUrl });
  try {
    const address = { hostname: LOOPBACK_HOST, port };
    const { url } = await listenOrExplain(
      () => server.listen(address),
      address,
    );
    bannerLines({ url, publicUrl, office, protocol }, mcp).forEach(print);
    if (operator) print(operatorLines(publicUrl ?? url, operator.token));
    const connection = server.connect(isNamed(protocol) ? { protocol } : {});
    await host({ ...flags, url, path: "/smcp/", connection }, config);
  } finally {
    await server.close();
  }
}

/** Returns whether agents have to name the version too, since the Server of `up` serves all. */
const isNamed = <P extends string>(
  protocol: P | "auto" | undefined,
): protocol is P => protocol !== undefined && protocol !== "auto";
