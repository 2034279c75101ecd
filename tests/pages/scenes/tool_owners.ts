import { codeBlocks } from "../../docs/support/blocks.ts";
import { withVersions } from "../../support/computer/reference_servers.ts";
import { givenConfiguration } from "../support/givens.ts";
import { blockOf, type Given, type Scene } from "../support/scene.ts";
import { givenSystemd } from "./operators.ts";

const page = "docs/tool-owners.md";

/** A Server at the default address, and a configuration. */
async function givenServer(given: Given): Promise<void> {
  await givenConfiguration(given);
  await given.serve("smcp-server --protocol all");
}

/** An Agent reads a file through the Computer. */
const isServing = async ({ machine }: Given): Promise<void> => {
  const call =
    "smcp-agent call read_text_file --office demo --arg path=notes.txt";
  await machine.run(`until ${call} 2>&1 | grep "what is in"; do :; done`);
};

/** The blocks of docs/tool-owners.md and docs/configuration.md. */
export const TOOL_OWNERS: readonly Scene[] = [
  {
    page,
    has: "smcp-computer import --out computer.json",
    given: async ({ machine, serve }) => {
      const claude = (await codeBlocks())
        .find(({ example }) => example === "claude-desktop");
      const folder = `${machine.home}/.config/Claude`;
      await Deno.mkdir(folder, { recursive: true });
      await Deno.mkdir(`${machine.home}/Documents`);
      await Deno.writeTextFile(
        `${folder}/claude_desktop_config.json`,
        withVersions(claude?.code ?? "").replaceAll("/home/you", machine.home),
      );
      await serve("smcp-server");
    },
    sees: { import: /Wrote computer.json/, check: /No problem found/ },
  },
  {
    page: "docs/configuration.md",
    has: "SMCP_INPUT_TOKEN=secret",
    given: async (given) => {
      await given.serve("smcp-server");
      await givenConfiguration(given, {
        inputs: [{ type: "promptString", id: "token", description: "Token" }],
      });
    },
    then: isServing,
  },
  { page, has: "--office demo --yes", given: givenServer, then: isServing },
  {
    page,
    has: "--office demo --ui",
    given: givenServer,
    sees: { "--ui": /http:\/\/127\.0\.0\.1:\d+/ },
    then: isServing,
  },
  {
    page,
    has: "--dpe-dir /srv/documents",
    given: givenServer,
    then: async (given) => {
      await isServing(given);
      const read = await given.machine.run(
        "smcp-agent read dpe://files/report --office demo && ls -A /srv/documents",
      );
      if (!/All is well[^]*\S$/.test(read)) throw new Error(read);
    },
  },
  {
    page,
    has: "--landing-root /srv/inbox",
    given: givenServer,
    then: async ({ machine }) => void await machine.run("ls -d /srv/inbox"),
  },
  {
    page,
    has: "smcp-computer service install --print",
    given: async (given) => {
      await givenSystemd(given.machine);
      await givenConfiguration(given);
    },
    sees: { "--print": /ExecStart=/, status: /running/ },
  },
  {
    page,
    has: "export async function readFile(",
    given: async (given) => {
      await givenConfiguration(given);
      const { code } = await blockOf({
        page,
        has: "export async function readFile(",
      });
      await given.machine.program("host.ts", code);
      await given.machine.program(
        "main.ts",
        'import { readFile } from "./host.ts";\nconsole.log(await readFile("notes.txt"));\n',
      );
      await given.serve("deno run -A main.ts", /^what is in notes.txt$/);
    },
  },
];
