/**
 * The reference MCP servers that tests, demo, benchmark and documentation start. Their versions
 * are written nowhere else, except on the pages, which tests hold to these.
 */
export const REFERENCE_SERVERS = {
  everything: "@modelcontextprotocol/server-everything@2026.8.31",
  filesystem: "@modelcontextprotocol/server-filesystem@2026.8.31",
  memory: "@modelcontextprotocol/server-memory@2026.8.31",
  sequentialThinking:
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
} as const;

/** Started with `deno run npm:…`. */
export const DENO_SERVERS: readonly string[] = [
  REFERENCE_SERVERS.everything,
  REFERENCE_SERVERS.filesystem,
  REFERENCE_SERVERS.memory,
];

/** Started with `npx -y …`: those of the documentation. */
export const NPX_SERVERS: readonly string[] = [
  REFERENCE_SERVERS.filesystem,
  REFERENCE_SERVERS.memory,
  REFERENCE_SERVERS.sequentialThinking,
];

/**
 * An object storage that speaks S3: `s3rver` as its maintained fork, since the original does not
 * check the signatures that it is here for.
 */
export const S3_SERVER = "npm:@20minutes/s3rver@5.0.0";

/** A text of the documentation with a version for each reference server that it names without one. */
export const withVersions = (text: string): string =>
  text.replaceAll(
    /@modelcontextprotocol\/server-[\w-]+(?![\w@-])/g,
    (name) =>
      Object.values(REFERENCE_SERVERS).find((pinned) =>
        pinned.startsWith(`${name}@`)
      ) ?? name,
  );
