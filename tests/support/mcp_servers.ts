import { fileURLToPath } from "node:url";
import type { ServerSettings } from "../../computer/mod.ts";
import type { FixtureOptions } from "./fixtures/mcp_fixture.ts";

const STDIO_FIXTURE = fileURLToPath(
  new URL("./fixtures/mcp_stdio.ts", import.meta.url),
);

/** The settings of a MCP server that is a child process. */
export type StdioSettings = Extract<ServerSettings, { type: "stdio" }>;

/** A MCP server gets a bare environment; what this machine needs for Deno to find its cache is added. */
const DENO_ENV = Object.fromEntries(
  ["DENO_DIR", "NPM_CONFIG_REGISTRY", "SSL_CERT_FILE", "HTTPS_PROXY"]
    .flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
);

/** The fixture as a child process. */
export const fixture = (
  options: FixtureOptions & { start?: "hang" | "exit" } = {},
  more: Partial<StdioSettings> = {},
): StdioSettings => ({
  ...more,
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: ["run", "-A", "--quiet", STDIO_FIXTURE, JSON.stringify(options)],
    ...more.server_parameters,
    env: { ...DENO_ENV, ...more.server_parameters?.env },
  },
});

const fromNpm = (name: string, ...args: string[]): StdioSettings => ({
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-config", // of the directory where it happens to start
      "--no-lock",
      `npm:@modelcontextprotocol/${name}`,
      ...args,
    ],
    env: DENO_ENV,
  },
});

/** The reference server that has a bit of everything. */
export const everything = (): StdioSettings => fromNpm("server-everything");

/** The reference server for files in a directory. */
export const filesystem = (directory: string): StdioSettings =>
  fromNpm("server-filesystem", directory);

/** The reference server for a knowledge graph, kept in a file. */
export const memory = (file: string): StdioSettings => {
  const settings = fromNpm("server-memory");
  return {
    ...settings,
    server_parameters: {
      ...settings.server_parameters,
      env: { ...DENO_ENV, MEMORY_FILE_PATH: file },
    },
  };
};
