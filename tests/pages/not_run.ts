/** A line of a page that no test runs as it is written. */
export interface NotRun {
  readonly page: string;
  /** The whole line. */
  readonly line: string;
  /** Why not, and what is tested in its place. */
  readonly reason: string;
}

const CLAUDE = "needs Claude Code: `deno task test:clients` runs it";
const DOCKER =
  "needs Docker's daemon: a test builds the same without it, by the lines of the Dockerfile";

/** All of them: what needs an account, a cloud or a program that is not here, or is this very suite. */
export const NOT_RUN: readonly NotRun[] = [
  {
    page: "docs/operators.md",
    line:
      'claude mcp add --transport http office http://127.0.0.1:8787/mcp/office-1 --header "x-api-key: $KEY"',
    reason: CLAUDE,
  },
  {
    page: "docs/operators.md",
    line: "docker build -t smcp-server .",
    reason: DOCKER,
  },
  {
    page: "docs/operators.md",
    line:
      'docker run -p 8787:8787 -e SMCP_API_KEYS="$(cat keys.json)" smcp-server',
    reason: DOCKER,
  },
];
