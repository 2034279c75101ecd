import { Command, Option } from "commander";
import process from "node:process";
import { addCompletion } from "../../cli/completion.ts";
import { standsFor } from "../../cli/own_command.ts";
import { teach } from "../../cli/teach.ts";
import { describeVersions } from "../../cli/version.ts";
import { PROFILES, type ProtocolName } from "../../protocol/mod.ts";
import { integer, isSet } from "./flag_values.ts";
import {
  type ObserveFlags,
  observeOptions,
  type ObserveSettings,
  readObserve,
} from "./observe_flags.ts";
import { limitOptions, type LimitSettings, readLimits } from "./limit_flags.ts";
import { logOptions, type LogSettings, readLog } from "./log_flags.ts";
import {
  readSecurity,
  securityOptions,
  type SecuritySettings,
} from "./security_flags.ts";

/** What the command line and the environment ask for. */
export interface Settings extends LimitSettings, SecuritySettings {
  /** The version of the protocol to speak. */
  readonly protocol: ProtocolName;
  /** The address to listen on. */
  readonly host: string;
  /** The port; 0 is any free one. */
  readonly port: number;
  /** The largest message of a client, in bytes. */
  readonly maxMessageBytes: number;
  /** What carries WebSockets. */
  readonly wsEngine: "fast" | "stock";
  /** What is counted, measured and traced. */
  readonly observe: ObserveSettings;
  /** What is logged, and where. */
  readonly log: LogSettings;
}

/** The command was asked for something else than to serve, or wrongly: text to print, and how to exit. */
export class CommandExit extends Error {
  /** 0 for help and version, 1 for what failed, 2 for a bad flag or value. */
  readonly exitCode: 0 | 1 | 2;

  /** @param message one line for an error; empty when commander has printed already */
  constructor(exitCode: 0 | 1 | 2, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

const AFTER_HELP = `
A key that is hard to guess, and how to store it hashed:
  openssl rand -hex 32
  printf 'sha256:%s' "$(printf %s "$KEY" | sha256sum | cut -d' ' -f1)"

SIGINT and SIGTERM drain. SIGHUP reads keys and certificates again and opens the log file anew.
Exit codes: 0 stopped, 1 failed, 2 wrong usage.`;

const NO_LIMITS = "SMCP_NO_LIMITS";

/**
 * Reads flags, and the environment for flags that are not given.
 *
 * @param args without the program's own name
 * @param env the environment
 * @throws {CommandExit} after `--help` or `--version`, and for a bad flag or value
 */
export function readSettings(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const command = teach(
    new Command("smcp-server"),
    "Serve A2C-SMCP: offices of agents and computers",
    [
      "smcp-server",
      "smcp-server --host 0.0.0.0 --api-keys keys.json   # and TLS",
      "smcp-server --api-keys keys.json --trust-proxy 1   # behind nginx or Caddy",
    ],
  )
    .version(describeVersions())
    .addOption(
      new Option("--host <address>", "address to listen on")
        .default("127.0.0.1").env("SMCP_HOST"),
    )
    .addOption(
      new Option("--port <number>", "port to listen on, 0 for any free one")
        .default(8787).env("SMCP_PORT").argParser(integer(0, 65535)),
    )
    .addOption(
      new Option("--protocol <version>", "the version of A2C-SMCP to speak")
        .choices(Object.keys(PROFILES)).default("0.2").env("SMCP_PROTOCOL"),
    )
    .addOption(
      new Option("--max-message-bytes <number>", "largest message of a client")
        .default(8 * 2 ** 20).env("SMCP_MAX_MESSAGE_BYTES")
        .argParser(integer(1024, 2 ** 30)),
    )
    .addOption(
      new Option(
        "--ws-engine <name>",
        "what carries WebSockets: fast, or stock, which is the package ws",
      ).choices(["fast", "stock"]).default("fast").env("SMCP_WS_ENGINE"),
    )
    .option(
      "--no-limits",
      `lift every count and rate limit; message size and depth stay limited (env: ${NO_LIMITS}=1)`,
    )
    .addHelpText(
      "after",
      AFTER_HELP + standsFor("smcp-server", process.execPath),
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  const further = [
    ...securityOptions(),
    ...limitOptions(),
    ...observeOptions(),
    ...logOptions(),
  ];
  for (const option of further) command.addOption(option);
  let completed = false;
  command.action(() => {});
  addCompletion(command, (script) => {
    console.log(script);
    completed = true;
  });
  try {
    command.parse(args, { from: "user" });
    if (completed) throw new CommandExit(0, "");
    const {
      protocol,
      host,
      port,
      maxMessageBytes,
      wsEngine,
      limits,
      ...rest
    } = command
      .opts<
        & Pick<
          Settings,
          "protocol" | "host" | "port" | "maxMessageBytes" | "wsEngine"
        >
        & { limits: boolean }
        & Parameters<typeof readSecurity>[0]
        & ObserveFlags
        & Parameters<typeof readLog>[0]
      >();
    return {
      protocol,
      host,
      port,
      maxMessageBytes,
      wsEngine,
      ...readSecurity(rest, env),
      ...readLimits({ ...rest }, limits && !isSet(NO_LIMITS, env)),
      observe: readObserve(rest, env),
      log: readLog(rest),
    };
  } catch (error) {
    throw toExit(error);
  }
}

function toExit(error: unknown): unknown {
  if (!(error instanceof Error) || !("exitCode" in error)) return error;
  if (error instanceof CommandExit) return error;
  if (error.exitCode === 0) return new CommandExit(0, "");
  // A suggestion comes on a line of its own.
  return new CommandExit(2, error.message.replaceAll(/\s*\n\s*/g, " "));
}
