import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type ClusterFlags,
  clusterOptions,
  type ClusterSettings,
  readCluster,
} from "../../cli/cluster_flags.ts";
import { integer } from "../../cli/integer.ts";
import type { ProtocolName } from "../../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import { WS_ENGINES, type WsEngine } from "../shared/ws_settings.ts";
import {
  type ObserveFlags,
  observeOptions,
  type ObserveSettings,
  readObserve,
} from "./observe_flags.ts";
import { limitOptions, type LimitSettings, readLimits } from "./limit_flags.ts";
import { type LogFlags, logOptions, readLog } from "./observe_flags.ts";
import type { LogSettings } from "./observe_flags.ts";
import {
  type McpFlags,
  mcpOptions,
  type McpSettings,
  readMcp,
} from "./mcp_flags.ts";
import {
  readSecurity,
  type SecurityFlags,
  securityOptions,
  type SecuritySettings,
} from "./security_flags.ts";

/** Settings of the command line and the environment. */
export interface Settings extends LimitSettings, SecuritySettings {
  /** The versions of the protocol to speak. */
  readonly protocol: readonly ProtocolName[];
  /** The address to listen on. */
  readonly host: string;
  /** The port; 0 is any free one. */
  readonly port: number;
  /** The largest message of a client, in bytes. */
  readonly maxMessageBytes: number;
  /** The implementation of WebSockets. */
  readonly wsEngine: WsEngine;
  /** Metrics and traces. */
  readonly observe: ObserveSettings;
  /** The log. */
  readonly log: LogSettings;
  /** Offices as MCP servers. */
  readonly mcp: McpSettings;
  /** Other servers with the same offices, if there are any. */
  readonly clustering?: ClusterSettings;
}

/** Values of the options of {@linkcode addSettings}. */
export interface SettingsFlags extends
  Pick<
    Settings,
    "protocol" | "host" | "port" | "maxMessageBytes" | "wsEngine"
  >,
  SecurityFlags,
  ObserveFlags,
  McpFlags,
  ClusterFlags,
  LogFlags {
  readonly limits: boolean;
}

/** Adds all options of the server's command. */
export function addSettings(command: Command): Command {
  command
    .addOption(
      new Option("--host <address>", "address to listen on")
        .default("127.0.0.1").env("SMCP_HOST"),
    )
    .addOption(
      new Option("--port <number>", "port to listen on, 0 for any free one")
        .default(8787).env("SMCP_PORT").argParser(integer(0, 65535)),
    )
    .addOption(
      new Option(
        "--protocol <list>",
        "the version of A2C-SMCP to serve, or several such as 0.2,0.4, which have offices of their own",
      ).choices([...PROTOCOL_NAMES, "all"]).argParser(protocols)
        .default(["0.2"], "0.2").env("SMCP_PROTOCOL"),
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
      ).choices(WS_ENGINES).default("fast").env("SMCP_WS_ENGINE"),
    )
    .addOption(
      new Option(
        "--no-limits",
        "lift every count and rate limit; message size and depth stay limited",
      ).env("SMCP_NO_LIMITS"),
    );
  const further = [
    ...securityOptions(),
    ...limitOptions(),
    ...observeOptions(),
    ...mcpOptions(),
    ...clusterOptions(),
    ...logOptions(),
  ];
  for (const option of further) command.addOption(option);
  return command;
}

/**
 * Reads the values of the options of {@linkcode addSettings}.
 *
 * @param env the environment, for secrets that no flag may hold
 * @throws {UsageError} for flags that contradict each other
 */
export function readSettings(
  flags: SettingsFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const { protocol, host, port, maxMessageBytes, wsEngine, limits } = flags;
  const clustering = readCluster(flags, env);
  return {
    protocol,
    host,
    port,
    maxMessageBytes,
    wsEngine,
    ...readSecurity(flags, env),
    ...readLimits({ ...flags }, limits),
    observe: readObserve(flags),
    log: readLog(flags),
    mcp: readMcp(flags),
    ...(clustering && { clustering }),
  };
}

/** Reads a list of versions, such as `0.2,0.4`, or `all`. */
function protocols(text: string): readonly ProtocolName[] {
  if (text.trim() === "all") return PROTOCOL_NAMES;
  const names = text.split(",").map((name) => name.trim());
  const found = PROTOCOL_NAMES.filter((name) => names.includes(name));
  if (found.length === new Set(names).size) return found;
  throw new InvalidArgumentError(
    `Expected one or more of ${PROTOCOL_NAMES.join(", ")}, or all.`,
  );
}
