/**
 * The reference MCP servers of tests, demo, benchmark and documentation. Their versions are defined
 * only here, and on pages, which tests compare.
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
 * An object storage with the S3 protocol: the maintained fork of `s3rver`, since the original does not
 * check signatures.
 */
export const S3_SERVER = "npm:@20minutes/s3rver@5.0.0";

/** Adds the versions of reference servers to a text of the documentation that names them without one. */
export const withVersions = (text: string): string =>
  text.replaceAll(
    /@modelcontextprotocol\/server-[\w-]+(?![\w@-])/g,
    (name) =>
      Object.values(REFERENCE_SERVERS).find((pinned) =>
        pinned.startsWith(`${name}@`)
      ) ?? name,
  );
