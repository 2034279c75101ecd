import { basename } from "node:path";
import type { MCPServerConfig } from "../../../protocol/mod.ts";

/** Programs that run another program, named in their arguments. */
const RUNNERS =
  /^(npx|bunx|uvx|pipx|uv|pnpm|yarn|npm|bun|deno|node|python[\d.]*|ruby|java|docker|podman)$/i;
/** Subcommands of runners, before the program's name. */
const RUNNER_SUBCOMMANDS: ReadonlySet<string> = new Set([
  "run",
  "exec",
  "dlx",
  "tool",
  "x",
]);
/** Options of runners that are followed by their value. */
const OPTIONS_WITH_VALUE =
  /^(-e|--env|--env-file|-v|--volume|--mount|-p|--publish|--name|--network|-w|--workdir|-u|--user|--with|--from|--python|--directory|--project|--package|--config)$/;

/** Sets `tool_prefix: "auto"` for MCP servers that run the same program, since their tools' names clash. */
export function prefixSamePrograms(
  servers: readonly MCPServerConfig[],
): { servers: MCPServerConfig[]; prefixed: string[] } {
  const programs = Map.groupBy(
    servers.filter(({ disabled }) => !disabled),
    programOf,
  );
  const prefixed = [...programs].flatMap(([program, group]) =>
    program === undefined || group.length < 2 ? [] : group
  ).filter(({ tool_prefix }) => (tool_prefix ?? null) === null)
    .map(({ name }) => name);
  return {
    prefixed,
    servers: servers.map((server) =>
      prefixed.includes(server.name)
        ? { ...server, tool_prefix: "auto" }
        : server
    ),
  };
}

/** Returns a text that is equal for MCP servers with the same tools; undefined if that is unknown. */
export function programOf(
  { type, server_parameters }: MCPServerConfig,
): string | undefined {
  if (type !== "stdio") return server_parameters.url.replace(/[?#][^]*$/, "");
  const { command, args } = server_parameters;
  const program = basename(command).replace(/\.(exe|cmd|bat)$/i, "");
  if (/^(sh|bash|zsh|cmd|powershell|pwsh)$/i.test(program)) return undefined;
  if (!RUNNERS.test(program)) return command;
  const named = args.find((arg, i) =>
    !arg.startsWith("-") && !RUNNER_SUBCOMMANDS.has(arg) &&
    !OPTIONS_WITH_VALUE.test(args[i - 1] ?? "")
  );
  // Without the version: other versions have mostly the same tools.
  return named?.replace(/(?<=.)@[^@/]*$/, "");
}
