/** The files of a role outside its rooms. */
const TOP_FOLDER = ".";

/**
 * The rooms of each role, from low to high: a file imports its own room and those before it, including
 * types. A name is a folder or a file of the role; the longest match counts for each path. A role
 * that is not listed has no order yet.
 */
export const ROLE_LAYERS: Readonly<Record<string, readonly string[]>> = {
  protocol: [
    "version.ts",
    "names.ts",
    "errors.ts",
    "schema.ts",
    "validation.ts",
    "uri.ts",
    "mcp",
    "payloads",
    TOP_FOLDER,
    "mod.ts",
  ],
  client: [
    "node_modules.ts",
    "errors.ts",
    "server_url.ts",
    "network/web_network.ts",
    "network/tls.ts",
    "options.ts",
    "wire.ts",
    "network",
    TOP_FOLDER,
  ],
  cli: [TOP_FOLDER, "service"],
  agent: [
    "bytes.ts",
    "no_files.ts",
    "document_source.ts",
    "options.ts",
    "parse_answer.ts",
    "office_path.ts",
    "requests.ts",
    "queries.ts",
    "blobs.ts",
    "files.ts",
    "put_file.ts",
    "skills.ts",
    "call_tool.ts",
    "document.ts",
    "tools.ts",
    "events.ts",
    TOP_FOLDER,
    "cli",
    "main.ts",
  ],
  server: [
    "shared",
    "sign_in/grant.ts",
    "sign_in/secret.ts",
    "office",
    "shared/cluster.ts",
    "wire",
    "limits",
    "auth",
    "observe",
    "cluster/redis",
    "cluster/directory.ts",
    "cluster/redis_directory.ts",
    "cluster/link_frames.ts",
    "cluster/link.ts",
    "cluster/redis_links.ts",
    "cluster/tunnel_frames.ts",
    "cluster",
    "http",
    "doors",
    "sign_in",
    "approvals",
    "operator/event_pages.ts",
    "operator/event_feed.ts",
    "operator",
    "operator/operations.ts",
    "operator/operator_routes.ts",
    "options.ts",
    "core.ts",
    "fetch",
    "workers",
    TOP_FOLDER,
    "cli",
    "main.ts",
  ],
  mcp: [
    "caller.ts",
    "options.ts",
    "office_agent.ts",
    "resources/uris.ts",
    "tools",
    "resources",
    "tasks",
    "office",
    "http",
    "pipe",
    TOP_FOLDER,
  ],
  computer: [
    "util",
    "rules",
    "config",
    "host/oauth",
    "host/mcp",
    "host",
    "blobs",
    "tools",
    "approvals",
    "resources",
    "skills",
    "requests",
    TOP_FOLDER,
    "control",
    "cli/screen.ts",
    "cli/report.ts",
    "cli/logging.ts",
    "cli/facts.ts",
    "cli/question_text.ts",
    "cli/question_view.ts",
    "cli/ask_choice.ts",
    "cli/terminal_questions.ts",
    "cli/ui",
    "cli/write_config.ts",
    "cli/init.ts",
    "cli/make_computer.ts",
    "cli/flags.ts",
    "cli/approve",
    "cli/control",
    "cli/shell",
    "cli",
    "main.ts",
  ],
};

/**
 * Checks an import between two files of one role.
 *
 * @param from the path of the importing file, from the repository's root
 * @param to the path of the imported file
 * @returns the violation, or `undefined`
 */
export function judgeLayers(
  role: string,
  from: string,
  to: string,
): { readonly message: string; readonly hint: string } | undefined {
  const layers = ROLE_LAYERS[role];
  if (layers === undefined) return undefined;
  const lower = layerOf(role, from, layers);
  const upper = layerOf(role, to, layers);
  if (lower === undefined || upper === undefined) {
    return {
      message: `${
        lower === undefined ? from : to
      } is in a room of ${role} that ROLE_LAYERS does not list`,
      hint: "Give the room a place in ROLE_LAYERS, above all that it imports",
    };
  }
  if (layers.indexOf(upper) <= layers.indexOf(lower)) return undefined;
  return {
    message: `${from} imports ${to}, which is in a room above its own`,
    hint:
      "Move what both need to the lower room, or take it through an interface",
  };
}

/** Returns the entry of a path. */
function layerOf(
  role: string,
  path: string,
  layers: readonly string[],
): string | undefined {
  const inner = path.slice(role.length + 1);
  const [best] = layers
    .filter((layer) => inner === layer || inner.startsWith(`${layer}/`))
    .toSorted((a, b) => b.length - a.length);
  return best ?? (inner.includes("/") ? undefined : TOP_FOLDER);
}
