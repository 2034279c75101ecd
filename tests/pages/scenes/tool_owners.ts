import { fileURLToPath } from "node:url";
import { codeBlocks } from "../../docs/support/blocks.ts";
import { withVersions } from "../../support/computer/reference_servers.ts";
import { FIRST, givenCertificates } from "../support/givens.ts";
import type { Given, Prepared, Scene } from "../support/scene.ts";
import { SYSTEMD } from "./operators.ts";

const page = "docs/tool-owners.md";
const approvals = "docs/approvals.md";
const before = [FIRST.init, FIRST.server, FIRST.notes];

/** An Agent reads a file through the Computer. */
const isServing = async ({ machine }: Given): Promise<void> => {
  const call =
    "smcp-agent call read_text_file --office demo --arg path=notes.txt";
  await machine.run(`${call} | grep "buy milk"`);
};

const claudeDesktop: Prepared = {
  because: "the reader has it already: Claude Desktop and its configuration",
  make: async ({ machine }) => {
    const claude = (await codeBlocks())
      .find(({ example }) => example === "claude-desktop");
    const folder = `${machine.home}/.config/Claude`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.mkdir(`${machine.home}/Documents`);
    await Deno.writeTextFile(
      `${folder}/claude_desktop_config.json`,
      withVersions(claude?.code ?? "").replaceAll("/home/you", machine.home),
    );
  },
};

const tracker: Prepared = {
  because: "tracker.example is an example of an MCP server of a company",
  make: async (given) => {
    await givenCertificates(given);
    const file = fileURLToPath(
      new URL("../support/tracker.ts", import.meta.url),
    );
    await given.serve(`exec deno run -A --no-config "${file}"`, /Listening/);
    return { DENO_CERT: "ca.pem" };
  },
};

/** The blocks of docs/tool-owners.md and docs/configuration.md, and those for the owner of docs/approvals.md. */
export const TOOL_OWNERS: readonly Scene[] = [
  {
    page,
    has: "smcp-computer import --out computer.json",
    prepared: claudeDesktop,
    sees: { import: /Wrote computer.json/, check: /No problem found/ },
  },
  {
    page: "docs/configuration.md",
    has: "SMCP_INPUT_TOKEN=secret",
    prepared: tracker,
    saves: { "computer.json": '"$schema"' },
    before: [FIRST.server, FIRST.notes],
    sees: { SMCP_INPUT_TOKEN: /^MCP server files: running/ },
    then: async ({ machine }) => {
      const call = "smcp-agent call --office demo";
      await machine.run(`${call} whoami | grep "^Bearer secret$"`);
      await machine.run(`${call} read --arg path=notes.txt | grep "buy milk"`);
    },
  },
  { page, has: "--office demo --yes", before, then: isServing },
  {
    page,
    has: "--office demo --ui",
    before,
    sees: { "--ui": /http:\/\/127\.0\.0\.1:\d+/ },
    then: isServing,
  },
  { page, has: "--dpe-dir documents", before, then: isServing },
  {
    page,
    has: "--landing-root inbox",
    before: [FIRST.init, "smcp-server --protocol all", FIRST.notes],
    then: async ({ machine }) =>
      void await machine.run(
        "smcp-agent put notes.txt --office demo && grep -r milk inbox",
      ),
  },
  {
    page,
    has: "smcp-computer service install --print",
    prepared: SYSTEMD,
    before: [FIRST.init],
    sees: { "--print": /ExecStart=/, status: /running/ },
  },
  {
    page: approvals,
    has: "--call read_file",
    before: [FIRST.init],
    sees: { "--call": /^decided by servers\.files\.default_tool_meta/m },
  },
  {
    page: approvals,
    has: "smcp-computer approve-page site",
    sees: { "approve-page": /^Wrote site: / },
    then: async ({ machine }) =>
      void await machine.run(
        `grep "connect-src[^;]* https://smcp.example.com" site/index.html`,
      ),
  },
  {
    page,
    has: "export async function readFile(",
    saves: { "host.ts": "export async function readFile(" },
    before: [FIRST.init, FIRST.notes],
    then: async ({ machine, serve }) => {
      await machine.save(
        "main.ts",
        'import { readFile } from "./host.ts";\nconsole.log(await readFile("notes.txt"));\n',
      );
      await serve("deno run -A main.ts", /^buy milk$/);
    },
  },
];
