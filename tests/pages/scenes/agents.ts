import { assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  FIRST,
  givenCertificates,
  givenConfiguration,
  givenKeys,
  KEYS,
} from "../support/givens.ts";
import {
  blockOf,
  type Given,
  type Prepared,
  type Scene,
} from "../support/scene.ts";

const page = "docs/agent-builders.md";
const started = "docs/getting-started.md";

/** How the page makes a skill. */
const skill = [
  "mkdir -p ~/.a2c/skills/user/pdf-forms/scripts",
  `echo 'print("filled in")' > ~/.a2c/skills/user/pdf-forms/scripts/fill.py`,
  String
    .raw`printf -- '---\nname: pdf-forms\ndescription: Fills in forms\n---\nRun scripts/fill.py.\n' > ~/.a2c/skills/user/pdf-forms/SKILL.md`,
];

/** A function of the page, called by a program with an Agent. */
const used = (
  name: string,
  result: string,
  more: Pick<Scene, "before" | "prepared">,
): Scene => ({
  page,
  has: `function ${name}(`,
  saves: { "used.ts": `function ${name}(` },
  ...more,
  then: async ({ machine }) => {
    await machine.save(
      "main.ts",
      `
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { ${name} } from "./used.ts";
const agent = new SmcpAgent({ url: "http://127.0.0.1:8787", name: "planner" });
await agent.connect();
await agent.join("team-a");
await agent.toolsSettled();
console.log("result:", await ${name}(agent));
await agent.close();
`,
    );
    const output = await machine.run("deno run -A main.ts");
    assertStringIncludes(output, result);
  },
});

const toPng: Prepared = {
  because: "to_png and a photo are examples of what a reader may have",
  make: async (given) => {
    await Deno.mkdir(`${given.machine.folder}/photos`);
    await given.machine.write("photos/cat.jpg", "no cat");
    await givenConfiguration(given);
    await given.serve(
      "smcp up --config office.json --name laptop --office team-a --landing-root inbox",
    );
  },
};

/** An office at a Server of an operator. */
const operator: Prepared = {
  because: "smcp.example.com is an example of a Server of somebody else",
  make: async (given) => {
    await givenCertificates(given);
    await givenKeys(given);
    await given.serve(
      "smcp-server --host 0.0.0.0 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
    );
  },
};

/** What the first program of the page prints, whatever its Server calls the tools. */
const DONE =
  /laptop (files__)?read_text_file [^]*done [^]*\[FILE\] computer\.json/;

/** A Server that only a proxy leads to: its name is that of another address. */
const proxy: Prepared = {
  because: "the proxy of a company, and a Server outside of it, are examples",
  make: async (given) => {
    await givenCertificates(given);
    await givenKeys(given);
    await given.serve(
      "smcp-server --host 10.0.0.5 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
    );
    const file = fileURLToPath(
      new URL("../support/company_proxy.ts", import.meta.url),
    );
    await given.serve(
      `exec deno run -A --no-config "${file}" tcp://10.0.0.5:443`,
      /^proxying$/,
    );
    return { SMCP_API_KEY: KEYS.laptop, SMCP_TLS_CA: "ca.pem" };
  },
};

/** The first program of the page, at the Server that it names and at that of `up`. */
async function runLoop({ machine, serve }: Given): Promise<void> {
  await serve(
    "smcp-computer run --config computer.json --office team-a --name laptop --url https://smcp.example.com",
    /^joined office /,
    { SMCP_API_KEY: KEYS.laptop, SMCP_TLS_CA: "ca.pem" },
  );
  const { code } = await blockOf({
    page,
    has: "the key that the operator gave you",
  });
  await machine.save("agent.ts", code);
  const output = await machine.run("deno run -A agent.ts", {
    DENO_CERT: "ca.pem",
  });
  assertMatch(output, DONE);
  await machine.save(
    "local.ts",
    code.replace("https://smcp.example.com", "http://127.0.0.1:8787"),
  );
  assertMatch(await machine.run("deno run -A local.ts"), DONE);
}

/** The blocks of docs/agent-builders.md and docs/getting-started.md that need nothing from a registry. */
export const AGENTS: readonly Scene[] = [
  used("convert", "6 of 6 bytes\ndone\nresult: undefined", {
    prepared: toPng,
  }),
  used("useSkill", "result: Run scripts/fill.py.", {
    before: [FIRST.init, ...skill, FIRST.up],
  }),
  {
    page,
    has: "smcp up --config computer.json --name laptop --office team-a --yes",
  },
  {
    page,
    has:
      'console.log(result.isError ? "failed" : "done", result.content);\nawait agent.close();',
    prepared: operator,
    before: [FIRST.init, FIRST.up],
    then: runLoop,
  },
  {
    page,
    has: "smcp-agent members\n",
    before: [FIRST.init, FIRST.up],
    sees: {
      members: /laptop/,
      tools: /files__read_text_file/,
      "--timeout 10": /buy milk/,
      "--json": /buy milk|watching/,
      config: /files/,
    },
  },
  {
    page,
    has: "smcp up --config notes.json",
    saves: { "notes.json": "notes_server.ts" },
    sees: {
      desktop: /buy milk/,
      resources: /window:\/\/notes\/all/,
      "docs notes": /dpe:\/\/notes\/all/,
      "read dpe": /buy milk/,
      prompts: /summary/,
      "prompt summary": /20 words/,
      "agent instructions": /No MCP server has instructions/,
      "agent skills": /pdf-forms/,
      "skill pdf-forms": /Run scripts|^$/, // or into a file
      "agent put": /notes\.txt/,
    },
  },
  {
    page: started,
    has: "source <(smcp-agent completion bash)",
  },
  { page: started, has: "smcp-server\n" },
  {
    page: started,
    has: "smcp-computer run --config computer.json --office demo\n",
    before: [FIRST.init, FIRST.server],
  },
  {
    page: started,
    has: "export HTTPS_PROXY=",
    prepared: proxy,
    before: [FIRST.init],
    then: async ({ machine }) => {
      const url = "https://smcp.example.com";
      const members = `smcp-agent members --office demo --url ${url}`;
      const env = { SMCP_API_KEY: KEYS.planner, SMCP_TLS_CA: "ca.pem" };
      const proxy = "http://user:p%40ssword@proxy.example:3128";
      await machine.run(`${members} | grep computer`, {
        ...env,
        HTTPS_PROXY: proxy,
      });
      const error = `Cannot connect to ${url}`;
      await machine.run(`${members} 2>&1 | grep "${error}"`, env);
    },
  },
];
