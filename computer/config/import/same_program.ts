import { basename } from "node:path";
import type { MCPServerConfig } from "../../../protocol/mod.ts";

/** Programs that run another one, which their arguments name. */
const RUNNERS =
  /^(npx|bunx|uvx|pipx|uv|pnpm|yarn|npm|bun|deno|node|python[\d.]*|ruby|java|docker|podman)$/i;
/** What tells a runner to run. */
const VERBS: ReadonlySet<string> = new Set(["run", "exec", "dlx", "tool", "x"]);
/** Options of runners whose value is an argument of its own. */
const WITH_VALUE =
  /^(-e|--env|--env-file|-v|--volume|--mount|-p|--publish|--name|--network|-w|--workdir|-u|--user|--with|--from|--python|--directory|--project|--package|--config)$/;

/** Gives "auto" for a prefix to MCP servers that are one program more than once: their tools have the same names. */
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

/** A text that is equal for MCP servers of the same tools; undefined when that cannot be told. */
export function programOf(
  { type, server_parameters }: MCPServerConfig,
): string | undefined {
  if (type !== "stdio") return server_parameters.url.replace(/[?#][^]*$/, "");
  const { command, args } = server_parameters;
  const program = basename(command).replace(/\.(exe|cmd|bat)$/i, "");
  if (/^(sh|bash|zsh|cmd|powershell|pwsh)$/i.test(program)) return undefined;
  if (!RUNNERS.test(program)) return command;
  const named = args.find((arg, i) =>
    !arg.startsWith("-") && !VERBS.has(arg) &&
    !WITH_VALUE.test(args[i - 1] ?? "")
  );
  // Of another version it has the same tools, or nearly so.
  return named?.replace(/(?<=.)@[^@/]*$/, "");
}
