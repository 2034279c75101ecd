/** A line of a page that no test runs as it is written. */
export interface NotRun {
  readonly page: string;
  /** The whole line. */
  readonly line: string;
  /** Why not, and what is tested in its place. */
  readonly reason: string;
}

const CLAUDE =
  "needs Claude Code, 230 MB of no version of ours: `deno task test:clients` lets it use an office by the same ways, and docs/mcp_page_test.ts the addresses";
const DOCKER =
  "needs Docker's daemon: a test builds the same without it, by the lines of the Dockerfile";
const SUITE = "it runs this very suite, as .ci/run does";

/** All of them: what needs an account, a cloud or a program that is not here, or is this very suite. */
export const NOT_RUN: readonly NotRun[] = [
  ["CONTRIBUTING.md", "deno task ok", SUITE],
  ["README.md", "npx -y deno task test   # the test suite", SUITE],
  [
    "README.md",
    "claude mcp add --transport http office http://127.0.0.1:8787/mcp/home",
    CLAUDE,
  ],
  [
    "docs/mcp.md",
    "claude mcp add --transport http office http://127.0.0.1:8787/mcp/home",
    CLAUDE,
  ],
  [
    "docs/mcp.md",
    "claude mcp add office -- deno run -A ~/a2c-smcp/agent/main.ts mcp --office home",
    CLAUDE,
  ],
  [
    "docs/mcp.md",
    'claude mcp add --transport http laptop "http://127.0.0.1:8787/mcp/home?computer=laptop"',
    CLAUDE,
  ],
  [
    "docs/mcp.md",
    'claude mcp add --transport http office https://smcp.example.com/mcp/team-a --header "Authorization: Bearer $KEY"',
    CLAUDE,
  ],
  [
    "docs/operators.md",
    'claude mcp add --transport http office http://127.0.0.1:8787/mcp/office-1 --header "x-api-key: $KEY"',
    CLAUDE,
  ],
  ["docs/operators.md", "docker build -t smcp-server .", DOCKER],
  [
    "docs/operators.md",
    'docker run -p 8787:8787 -e SMCP_API_KEYS="$(cat keys.json)" smcp-server',
    DOCKER,
  ],
].map(([page = "", line = "", reason = ""]) => ({ page, line, reason }));
