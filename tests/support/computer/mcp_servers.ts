import { fileURLToPath } from "node:url";
import type { ServerSettings } from "../../../computer/mod.ts";
import type { FixtureOptions } from "../fixtures/mcp_fixture.ts";
import { REFERENCE_SERVERS } from "./reference_servers.ts";

const STDIO_FIXTURE = fileURLToPath(
  new URL("../fixtures/mcp_stdio.ts", import.meta.url),
);

/** The settings of an MCP server that is a child process. */
export type StdioSettings = Extract<ServerSettings, { type: "stdio" }>;

/** Variables that Deno needs to find its cache, since MCP servers get a minimal environment. */
export const DENO_ENV = Object.fromEntries(
  ["DENO_DIR", "XDG_CACHE_HOME", "NPM_CONFIG_REGISTRY"].flatMap((name) => {
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

const reference = (
  name: keyof typeof REFERENCE_SERVERS,
  ...args: string[]
): StdioSettings => ({
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: [
      "run",
      "-A",
      "--quiet",
      "--cached-only", // it is fetched before the tests run, never within one
      "--no-config", // of the directory where it happens to start
      "--no-lock",
      `npm:${REFERENCE_SERVERS[name]}`,
      ...args,
    ],
    env: DENO_ENV,
  },
});

/** The reference server with examples of all features. */
export const everything = (): StdioSettings => reference("everything");

/** The reference server for files in a directory. */
export const filesystem = (directory: string): StdioSettings =>
  reference("filesystem", directory);

/** The reference server for a knowledge graph, kept in a file. */
export const memory = (file: string): StdioSettings => {
  const settings = reference("memory");
  return {
    ...settings,
    server_parameters: {
      ...settings.server_parameters,
      env: { ...DENO_ENV, MEMORY_FILE_PATH: file },
    },
  };
};
