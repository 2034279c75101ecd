/**
 * The published MCP servers that are tried, in exact versions, and what is requested of each: what needs
 * no network, and gives the same each time.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsFolder } from "../../tools/npm/node.ts";
import { isInstalled } from "../docs/support/tools.ts";
import { venvWith } from "../interop/support/venv.ts";
import type { StdioSettings } from "../support/computer/mcp_servers.ts";
import { REFERENCE_SERVERS } from "../support/computer/reference_servers.ts";
import { type NpmTools, npmTools } from "../support/mcp/npm_tools.ts";
import type { Raw } from "./by_design.ts";

/** A published MCP server, and what is requested of it. */
export interface RealServer {
  /** What it is called here, as is its Computer. */
  readonly name: string;
  readonly settings: StdioSettings;
  /** Calls of its tools, in their order. */
  readonly calls: readonly (readonly [tool: string, args: Raw])[];
  /** Prompts, filled in. */
  readonly prompts?: readonly (
    readonly [prompt: string, args: Readonly<Record<string, string>>]
  )[];
  /** URIs of resources to read. */
  readonly reads?: readonly string[];
  /** Matches what differs from day to day in its results. */
  readonly varies?: RegExp;
}

/** The packages of npm. */
const NPM = [
  ...Object.values(REFERENCE_SERVERS),
  "@modelcontextprotocol/server-basic-vanillajs@2.0.3",
  "@modelcontextprotocol/server-map@2.0.3",
  "@modelcontextprotocol/server-pdf@2.0.4",
  "@playwright/mcp@0.0.83",
  "@upstash/context7-mcp@4.1.1",
];

/** The packages of PyPI. */
const PYPI = fileURLToPath(new URL("./requirements.txt", import.meta.url));

/** Finds the MCP servers of npm, which it installs once. */
export const findNpmServers = (): Promise<NpmTools> =>
  npmTools("mcp-servers", NPM);

/**
 * Finds the MCP servers of PyPI, which it installs once.
 *
 * @returns the folder of their commands; `undefined` where there is no Python
 */
export async function findPypiServers(): Promise<string | undefined> {
  if (!await isInstalled("python3")) return undefined;
  const folder = join(toolsFolder(), "mcp-servers-python");
  return dirname(await venvWith(folder, PYPI));
}

const settings = (
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): StdioSettings => ({
  type: "stdio",
  server_parameters: { command, args: [...args], env },
});

/** The text files of the folder that MCP servers work in, and of its Git repository. */
export const FILES: Readonly<Record<string, string>> = {
  "notes.txt": "first line\nsecond line\n",
  "cities.md": "# Cities\n\n- Köln\n- 東京\n",
};

const PACKED = "data:text/plain,a%20text%20that%20is%20packed";

/** Lists the MCP servers of npm. */
export function serversOfNpm(
  { node, folder: packages }: Pick<NpmTools, "node" | "folder">,
  folder: string,
): RealServer[] {
  /** Starts a command of a package. */
  const run = (name: string, args: string[] = [], env = {}) =>
    settings(
      node,
      [join(packages, "node_modules", ".bin", name), ...args],
      env,
    );
  const at = (file: string) => join(folder, file);
  return [
    {
      name: "everything",
      settings: run("mcp-server-everything"),
      calls: [
        ["echo", { message: "hello" }],
        ["get-sum", { a: 2, b: 3 }],
        ["get-sum", { a: "two" }],
        ["get-tiny-image", {}],
        ["get-structured-content", { location: "Chicago" }],
        ["get-annotated-message", { messageType: "error", includeImage: true }],
        ["get-resource-links", { count: 2 }],
        ["gzip-file-as-resource", { data: PACKED, outputType: "resource" }],
        ["trigger-elicitation-request", {}],
      ],
      prompts: [
        ["simple-prompt", {}],
        ["args-prompt", { city: "Bonn", state: "NRW" }],
      ],
      reads: ["demo://resource/static/document/features.md"],
    },
    {
      name: "files",
      settings: run("mcp-server-filesystem", [folder]),
      calls: [
        ["list_allowed_directories", {}],
        ["read_text_file", { path: at("cities.md") }],
        ["write_file", { path: at("new.txt"), content: "Zürich 🏔\n" }],
        ["edit_file", {
          path: at("notes.txt"),
          edits: [{ oldText: "second", newText: "last" }],
        }],
        ["read_multiple_files", { paths: [at("new.txt"), at("notes.txt")] }],
        ["read_media_file", { path: at("new.txt") }],
        ["search_files", { path: folder, pattern: "*.txt" }],
        ["read_text_file", { path: at("none.txt") }],
        ["read_text_file", { path: "/etc/hostname" }],
      ],
    },
    {
      name: "memory",
      settings: run("mcp-server-memory", [], {
        MEMORY_FILE_PATH: at("memory.jsonl"),
      }),
      calls: [
        ["create_entities", {
          entities: ["Ada", "Bob"].map((name) => ({
            name,
            entityType: "person",
            observations: [`${name} likes tea`],
          })),
        }],
        ["create_relations", {
          relations: [{ from: "Ada", to: "Bob", relationType: "knows" }],
        }],
        ["search_nodes", { query: "Ada" }],
        ["read_graph", {}],
        ["add_observations", {
          observations: [{ entityName: "Eve", contents: ["is unknown"] }],
        }],
      ],
      reads: ["memory://knowledge-graph"],
    },
    {
      name: "thinking",
      settings: run("mcp-server-sequential-thinking"),
      calls: [
        ...[1, 2].map((thoughtNumber) =>
          ["sequentialthinking", {
            thought: "One at a time",
            nextThoughtNeeded: thoughtNumber === 1,
            thoughtNumber,
            totalThoughts: 2,
          }] as const
        ),
        ["sequentialthinking", { thought: "Without a number" }],
      ],
    },
    {
      name: "pdf",
      settings: run("mcp-pdf-server", ["--stdio"]),
      calls: [["list_pdfs", {}], ["save_pdf", {}]],
      reads: ["ui://pdf-viewer/mcp-app.html"],
    },
    {
      name: "playwright",
      settings: run("playwright-mcp", [
        ...["--headless", "--executable-path", at("no-browser")],
      ]),
      calls: [
        ["browser_navigate", { url: "about:blank" }],
        ["browser_snapshot", {}],
      ],
    },
    {
      name: "context7", // without its service
      settings: run("context7-mcp"),
      calls: [
        ["resolve-library-id", { query: "routing" }],
        ["query-docs", { libraryId: 7 }],
      ],
    },
  ];
}

/** Lists MCP servers with pages (MCP Apps): an example of the extension, a map, and a viewer of documents. */
export function serversWithPages(
  { node, folder }: Pick<NpmTools, "node" | "folder">,
): readonly Pick<RealServer, "name" | "settings">[] {
  const commands = {
    basic: "mcp-server-basic-vanillajs",
    map: "mcp-map-server",
    pdf: "mcp-pdf-server",
  };
  return Object.entries(commands).map(([name, command]) => ({
    name,
    settings: settings(node, [
      join(folder, "node_modules", ".bin", command),
      "--stdio",
    ]),
  }));
}

/**
 * Lists the MCP servers of PyPI.
 *
 * @param bin the folder of their commands
 * @param page the URL of a page of text
 */
export function serversOfPypi(
  bin: string,
  folder: string,
  page: string,
): RealServer[] {
  const run = (name: string, ...args: string[]) =>
    settings(join(bin, name), args);
  const repository = { repo_path: folder };
  return [
    {
      name: "time",
      settings: run("mcp-server-time", "--local-timezone", "UTC"),
      calls: [
        ["convert_time", {
          source_timezone: "UTC",
          time: "16:30",
          target_timezone: "Asia/Tokyo",
        }],
        ["get_current_time", { timezone: "Nowhere/Land" }],
      ],
      varies: /\d{4}-\d\d-\d\d(?=T)|\w+day\b/g,
    },
    {
      name: "git",
      settings: run("mcp-server-git"),
      calls: [
        ["git_status", repository],
        ["git_log", repository],
        ["git_show", { ...repository, revision: "HEAD" }],
        ["git_create_branch", { ...repository, branch_name: "other" }],
        ["git_branch", { ...repository, branch_type: "local" }],
        ["git_checkout", { ...repository, branch_name: "none" }],
      ],
    },
    {
      name: "fetch",
      settings: run(
        "mcp-server-fetch",
        "--ignore-robots-txt",
        "--allow-private-ips",
      ),
      calls: [
        ["fetch", { url: page }],
        ["fetch", { url: page, max_length: 5 }],
        ["fetch", { url: "nonsense" }],
      ],
      prompts: [["fetch", { url: page }]],
    },
  ];
}
