import process from "node:process";
import { printError } from "../../cli/print.ts";
import { warningsOf } from "../../client/check_options.ts";
import type { UrlOptions } from "../../client/options.ts";
import { orUsageError } from "../../cli/run.ts";
import { connectionOptions } from "../../cli/server_flags.ts";
import { firstSignal } from "../../cli/signals.ts";
import { present } from "../../shared/checks.ts";
import { loadPackages } from "../../shared/packages.ts";
import type { OfficeFlags } from "./office.ts";

/** Flags of `mcp`. */
interface McpFlags extends Omit<OfficeFlags, "json"> {
  /** Only the tools of this Computer. */
  computer?: string;
  /** Only tools that match one of these. */
  include: string[];
  /** No tools that match one of these. */
  exclude: string[];
  /** All tools, or a search for them. */
  tools?: "all" | "search";
  /** Maximum characters of a name. */
  nameLimit?: number;
  /** Seconds after which a call is cancelled. */
  timeout?: number;
  /** Adds tools that read. */
  desktopTools?: true;
}

/** How the office is shown: the flags, with a timeout as the code has it. */
type McpView =
  & Partial<Omit<McpFlags, keyof OfficeFlags | "timeout">>
  & { callTimeoutMs?: number };

/** Connects the program that has started this one with an office; `pipeOffice` of the room `mcp` is one. */
type PipeOffice = (
  options: {
    readonly agent: UrlOptions;
    readonly office: string;
    readonly view: McpView;
    readonly log: (line: string) => void;
  },
) => { readonly closed: Promise<void>; close(): Promise<void> };

/** Loads {@linkcode PipeOffice}; an Agent must not import it itself. */
export type LoadMcp = () => Promise<PipeOffice>;

/** Serves the office to the program that has started this one, until that ends. */
export async function mcp(flags: McpFlags, load: LoadMcp): Promise<void> {
  const agent = connectionOptions(flags);
  // Stdout belongs to the messages.
  const log = (line: string) => printError(`smcp-agent mcp: ${line}`);
  for (const warning of warningsOf(agent)) log(`warning: ${warning}`);
  const pipeOffice = await loadPackages(
    "serve MCP",
    ["@modelcontextprotocol/client", "@modelcontextprotocol/server"],
    load,
  );
  const { office } = flags;
  const pipe = orUsageError(() =>
    pipeOffice({ agent, office, view: viewOf(flags), log })
  );
  void firstSignal().then(() => pipe.close());
  await pipe.closed;
  process.stdin.destroy(); // else it keeps the process
}

const viewOf = (
  { computer, include, exclude, tools, nameLimit, timeout, desktopTools }:
    McpFlags,
): McpView =>
  present({
    computer,
    include: include.length > 0 ? include : undefined,
    exclude: exclude.length > 0 ? exclude : undefined,
    tools,
    nameLimit,
    callTimeoutMs: timeout === undefined ? undefined : timeout * 1000,
    desktopTools,
  });
