/** A block of a page that a test outside of this folder runs. */
export interface Elsewhere {
  readonly page: string;
  /** What this block alone has, of all that the page shows. */
  readonly has: string;
  /** The file of the test, from `tests/`. */
  readonly file: string;
  /** The name of the test. */
  readonly test: string;
}

const functions = {
  page: "docs/agent-builders.md",
  file: "docs/pages_code_test.ts",
  test: "the functions of the page for builders of agents do what it says",
};
const tests = {
  ...functions,
  test: "the tests that the page for builders of agents shows pass",
};
const minutes = {
  page: "docs/getting-started.md",
  file: "docs/transcript_test.ts",
  test:
    "the first ten minutes: from an empty folder and Claude Desktop's configuration to a tool call",
};
const permissions = {
  page: "docs/security.md",
  file: "docs/permissions_test.ts",
};
const inCode = {
  ...permissions,
  test: "the permissions of the page are enough for programs, and needed",
};
const started = { ...inCode, page: "docs/getting-started.md" };

/** Those that have more to prove than that they run. */
export const ELSEWHERE: readonly Elsewhere[] = [
  {
    page: "README.md",
    has: "[FILE] computer.json",
    file: "docs/transcript_test.ts",
    test:
      "the transcript of the README: from an empty folder and its configuration to a tool call",
  },
  {
    page: "docs/edge.md",
    has: "bun run main.ts",
    file: "edge/bun/npm_test.ts",
    test: "the page's program for Bun serves",
  },
  {
    page: "docs/edge.md",
    has: "smcpWorker((env",
    file: "edge/workers/worker_test.ts",
    test: "the page's program serves with one secret",
  },
  { ...minutes, has: "computer/main.ts import" },
  { ...minutes, has: "agent/main.ts call read_text_file" },
  { ...started, has: "createSmcpServer();" },
  { ...started, has: "new SmcpComputer({" },
  {
    ...started,
    has: 'new SmcpAgent({ url: "http://127.0.0.1:8787", name: "planner" });',
  },
  {
    page: "docs/getting-started.md",
    has: "deno task release",
    file: "compile/binaries_test.ts",
    test:
      "deno task release writes archives for five platforms, with license, completions and checksums",
  },
  { ...functions, has: "function readNotes(" },
  { ...functions, has: "function modelTools(" },
  { ...functions, has: "function pay(" },
  { ...tests, has: "function testTriesAgain(" },
  {
    ...permissions,
    has: "~/a2c-smcp/server/main.ts",
    test: "the permissions of the page are enough for each role, and needed",
  },
  {
    ...inCode,
    has: "deno run --allow-env --allow-net=127.0.0.1:8787 server.ts",
  },
];
