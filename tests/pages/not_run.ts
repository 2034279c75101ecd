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
const UP_SIGN_IN =
  "prints a key for the pages of claude's sign-in: tests/e2e/computer/up_sign_in_test.ts signs a program in at it";
const CLAUDE_SIGN_IN =
  "needs Claude Code, and a Server that the internet reaches: `deno task test:clients` lets it sign in by the same commands, at a Server of this machine";
const TUNNEL =
  "needs a tunnel of a cloud: tests/e2e/server/sign_in has what comes through one, which dials loopback";
const DOCKER =
  "needs Docker's daemon: a test builds the same without it, by the lines of the Dockerfile";
const KUBERNETES =
  "needs a cluster of Kubernetes: tests/compile/deploy_test.ts checks the manifests by its schema, and starts the Server as they do";
const CLOUDFLARE =
  "needs an account at Cloudflare: tests/edge/workers runs this example in its runtime, with a Computer and an Agent";
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
    "docs/mcp.md",
    "smcp up --config claude_desktop_config.json --sign-in",
    UP_SIGN_IN,
  ],
  ...[
    "claude mcp add --transport http home http://127.0.0.1:8787/mcp/home",
    "claude mcp login home",
    "claude mcp add --transport http office https://smcp.example.com/mcp/home",
    "claude mcp login office",
  ].map((line) => ["docs/mcp.md", line, CLAUDE_SIGN_IN]),
  [
    "docs/mcp.md",
    "cloudflared tunnel --url http://127.0.0.1:8787",
    TUNNEL,
  ],
  [
    "docs/approvals.md",
    "smcp up --config computer.json --notify-url https://ntfy.sh/TOPIC",
    "needs a service on the internet: tests/e2e/approvals/waking_test.ts has one on loopback in its place",
  ],
  [
    "docs/approvals.md",
    "smcp-computer pair --page https://approve.example.net/",
    "needs a host of yours with https, and digits that a device shows: tests/e2e/computer_control/pairing_test.ts pairs by the command without --page",
  ],
  [
    "docs/operators.md",
    'claude mcp add --transport http office http://127.0.0.1:8787/mcp/team-a --header "x-api-key: $KEY"',
    CLAUDE,
  ],
  [
    "docs/operators.md",
    "smcp up --config computer.json --sign-in --public-url https://smcp.example.com",
    "needs a name of yours that leads to it by https: tests/e2e/computer/up_sign_in_test.ts does so by a proxy on loopback",
  ],
  ["docs/operators.md", "docker build -t smcp-server .", DOCKER],
  [
    "docs/operators.md",
    'docker run -p 8787:8787 -e SMCP_API_KEYS="$(cat keys.json)" smcp-server',
    DOCKER,
  ],
  ...[
    "kubectl apply -f deploy/server.yaml -f deploy/ingress.yaml",
    "kubectl -n smcp create secret generic smcp-server --from-file=keys.json",
    "kubectl -n smcp rollout status deployment/smcp-server",
    `kubectl -n smcp patch secret smcp-server --patch '{"stringData":{"cluster":"redis://:PASSWORD@smcp-redis:6379"}}'`,
    "kubectl -n smcp scale deployment/smcp-server --replicas=3",
    "kubectl -n smcp rollout restart deployment/smcp-server",
  ].map((line) => ["docs/scaling.md", line, KUBERNETES]),
  ...[
    `npm init -y`,
    `KEY=$(openssl rand -hex 32)`,
    `npm install ~/a2c-smcp/a2c-smcp-sdk-0.2.0.tgz @modelcontextprotocol/server wrangler`,
    `npx wrangler login`,
    `echo "[{\\"id\\":\\"lab\\",\\"key\\":\\"$KEY\\"}]" | npx wrangler secret put SMCP_KEYS`,
    `npx wrangler deploy`,
    `export SMCP_URL=https://smcp.NAME.workers.dev SMCP_OFFICE=home SMCP_API_KEY=$KEY`,
    `smcp-computer init`,
    `smcp-computer run --config computer.json &`,
    `smcp-agent tools`,
    `smcp-agent call list_directory --arg path=.`,
    `npx wrangler tail`,
  ].map((line) => ["docs/edge.md", line, CLOUDFLARE]),
  ...[
    `npm init -y`,
    `npm install ~/a2c-smcp/a2c-smcp-sdk-0.2.0.tgz @modelcontextprotocol/server wrangler`,
    `echo 'SMCP_KEYS=[{"id":"lab","key":"for-a-try"}]' > .dev.vars`,
    `npx wrangler dev --port 8787`,
    `export SMCP_URL=http://127.0.0.1:8787 SMCP_OFFICE=home SMCP_API_KEY=for-a-try`,
    `smcp-computer init`,
    `smcp-computer run --config computer.json`,
    `smcp-agent tools`,
    `npx wrangler login`,
    `echo "[{\\"id\\":\\"lab\\",\\"key\\":\\"$(openssl rand -hex 32)\\"}]" | npx wrangler secret put SMCP_KEYS`,
    `npx wrangler deploy`,
  ].map((line) => ["examples/cloudflare/README.md", line, CLOUDFLARE]),
].map(([page = "", line = "", reason = ""]) => ({ page, line, reason }));
