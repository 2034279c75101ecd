import { fileURLToPath } from "node:url";
import { isInstalled } from "../../docs/support/tools.ts";
import {
  type ApiMaker,
  completionsApi,
  messagesApi,
  responsesApi,
  startModel,
} from "../../support/mcp/models.ts";
import { FIRST } from "../support/givens.ts";
import {
  blockOf,
  type Given,
  type Prepared,
  type Scene,
} from "../support/scene.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

const started = "docs/getting-started.md";

/** The office of `smcp up`, as the README starts it. */
const home = [FIRST.init, FIRST.notes, FIRST.home];

const CLONE = 'git clone "$REPOSITORY" ~/a2c-smcp';

const repository: Prepared = {
  because: "$REPOSITORY is the address that the reader has",
  make: () => Promise.resolve({ REPOSITORY }),
};

/** A model of our own. */
const model = (api: ApiMaker): Prepared => ({
  because: "models cost money: one of our own answers, at another address",
  make: async (given) => {
    const model = await startModel(
      api("laptop__read_text_file", { path: "notes.txt" }),
    );
    given.defer(() => model[Symbol.asyncDispose]());
    const port = 4000;
    await given.machine.forward(port, Number(new URL(model.url).port));
    const url = `http://127.0.0.1:${port}`;
    return {
      KEY: "x",
      ANTHROPIC_BASE_URL: url,
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_AGENTS_DISABLE_TRACING: "1",
    };
  },
});

/** A program with a framework, of examples/mcp: what the page installs, and how it starts it. */
const framework = (
  [install, program]: readonly [string, string],
  api: ApiMaker,
): Scene => ({
  page: "docs/agent-builders.md",
  has: install,
  machine: { isOnline: true },
  prepared: model(api),
  before: home,
  sees: { [`${program} "`]: /^The tool says .*buy milk/m },
});

const hasPython = await isInstalled("python3");

/** Puts `python` and `pip` of an environment of its own into the PATH. */
async function givenPython({ machine }: Given): Promise<void> {
  await machine.run("python3 -m venv ~/venv");
  for (const name of ["python", "pip"]) {
    const file = `${machine.home}/bin/${name}`;
    await Deno.writeTextFile(file, `#!/bin/sh\nexec ~/venv/bin/${name} "$@"\n`);
    await Deno.chmod(file, 0o755);
  }
}

const python = framework(
  [
    "pip install fastmcp",
    "fastmcp_openai.py",
  ],
  responsesApi,
);

/** What fetches packages: the README's blocks by somebody who has fetched nothing yet. */
export const FIRST_HOUR: readonly Scene[] = [
  {
    page: "README.md",
    has: "git clone",
    machine: { isNew: true, withoutClone: true },
    prepared: repository,
    sees: { "mod.ts up": /^MCP server files: running, / },
    then: async ({ machine }) => {
      const output = await machine.run(
        "deno run -A ~/a2c-smcp/agent/main.ts call list_directory --office home --arg path=.",
      );
      if (!output.includes("[FILE] computer.json")) throw new Error(output);
    },
  },
  {
    page: "README.md",
    has: "npx -y deno task demo",
    machine: { isNew: true, withoutClone: true },
    folder: "~/a2c-smcp",
    prepared: repository,
    before: [CLONE],
  },
  {
    page: started,
    has: "npm install ~/a2c-smcp/a2c-smcp-sdk-",
    machine: { isNew: true, withoutClone: true },
    prepared: repository,
    before: [CLONE, ["deno task pack", "~/a2c-smcp"]],
    then: async ({ machine, serve }) => {
      const { code } = await blockOf({
        page: started,
        has: "createSmcpServer();",
      });
      await machine.write(
        "server.ts",
        code.replace("@a2c-smcp/sdk/", "@a2c-smcp/"),
      );
      await serve("exec node server.ts", /^Serving http/);
    },
  },
  {
    page: "docs/mcp.md",
    has: "npx -y @modelcontextprotocol/inspector",
    machine: { isOnline: true },
    before: home,
    sees: { inspector: /"laptop__read_text_file"/ },
  },
  framework(
    ["npm install ai@", "ai_sdk.ts"],
    responsesApi,
  ),
  framework(
    [
      "npm install @openai/agents",
      "openai_agents.ts",
    ],
    responsesApi,
  ),
  framework(
    ["npm install langchain@", "langchain.ts"],
    completionsApi,
  ),
  framework(
    [
      "npm install @anthropic-ai/sdk",
      "anthropic.ts",
    ],
    messagesApi,
  ),
  {
    ...python,
    ignore: hasPython ? "" : " (skipped: python3 is not installed)",
    prepared: {
      because: "pip installs into the environment that the reader chooses",
      make: async (given) => {
        await givenPython(given);
        return await python.prepared?.make(given);
      },
    },
  },
];
