import { assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  givenCertificates,
  givenConfiguration,
  givenKeys,
  givenOffice,
  KEYS,
} from "../support/givens.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { blockOf, type Given, type Scene } from "../support/scene.ts";

const page = "docs/agent-builders.md";
const started = "docs/getting-started.md";

/** The skill that the pages name, of the user. */
async function givenSkill({ machine }: Given): Promise<void> {
  const folder = `${machine.home}/.a2c/skills/user/pdf-forms`;
  await Deno.mkdir(`${folder}/scripts`, { recursive: true });
  await Deno.writeTextFile(
    `${folder}/SKILL.md`,
    skillText("pdf-forms", "Fills in forms."),
  );
  await Deno.writeTextFile(`${folder}/scripts/fill.py`, "print()\n");
}

/** A function of the page, called by a program with an Agent. */
const used = (name: string, protocol: string, result: string): Scene => ({
  page,
  has: `function ${name}(`,
  given: async (given) => {
    const { machine } = given;
    await givenSkill(given);
    await Deno.mkdir(`${machine.folder}/photos`);
    await machine.write("photos/cat.jpg", "no cat");
    await givenOffice(
      given,
      "team-a",
      `--protocol ${protocol} --landing-root /srv/inbox`,
    );
    const { code } = await blockOf({ page, has: `function ${name}(` });
    await machine.program("used.ts", code);
    await machine.program(
      "main.ts",
      `
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { ${name} } from "./used.ts";
const agent = new SmcpAgent({ url: "http://127.0.0.1:8787", name: "planner", protocol: "${protocol}" });
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

/** What the first program of the page prints, whatever its Server calls the tools. */
const DONE =
  /laptop (files__)?read_text_file [^]*done .*\[FILE\] computer\.json/;

/** A Server that only a proxy leads to: its name is that of another address. */
async function givenProxy(given: Given): Promise<Record<string, string>> {
  await givenConfiguration(given);
  await givenCertificates(given);
  await givenKeys(given);
  await given.serve(
    "smcp-server --host 10.0.0.5 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
  );
  const proxy = fileURLToPath(
    new URL("../support/company_proxy.ts", import.meta.url),
  );
  await given.serve(
    `exec deno run -A --no-config "${proxy}" tcp://10.0.0.5:443`,
    /^proxying$/,
  );
  return { SMCP_API_KEY: KEYS.laptop, SMCP_TLS_CA: "ca.pem" };
}

/** The blocks of docs/agent-builders.md and docs/getting-started.md that need nothing from a registry. */
export const AGENTS: readonly Scene[] = [
  used("convert", "0.4", "6 of 6 bytes\ndone\nresult: undefined"),
  used("useSkill", "0.4", "result: # pdf-forms"),
  {
    page,
    has: "smcp up --config computer.json --name laptop --office team-a --yes",
    given: givenConfiguration,
  },
  {
    page,
    has:
      'console.log(result.isError ? "failed" : "done", result.content);\nawait agent.close();',
    given: async (given) => {
      await givenCertificates(given);
      await givenKeys(given);
      await givenConfiguration(given);
      await given.serve(
        "smcp-server --host 0.0.0.0 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
      );
      await given.serve(
        "smcp-computer run --config computer.json --office team-a --name laptop --url https://smcp.example.com",
        /^MCP server files: running/,
        { SMCP_API_KEY: KEYS.laptop, SMCP_TLS_CA: "ca.pem" },
      );
      const { code } = await blockOf({
        page,
        has: "the key that the operator gave you",
      });
      await given.machine.program("agent.ts", code);
      const output = await given.machine.run("deno run -A agent.ts", {
        DENO_CERT: "ca.pem",
      });
      assertMatch(output, DONE);

      await givenOffice(given); // the same program at the Server that the page starts
      await given.machine.program(
        "local.ts",
        code.replace("https://smcp.example.com", "http://127.0.0.1:8787"),
      );
      assertMatch(await given.machine.run("deno run -A local.ts"), DONE);
    },
  },
  {
    page,
    has: "smcp-agent skill pdf-forms\n",
    given: async (given) => {
      await givenSkill(given);
      await givenOffice(
        given,
        "team-a",
        "--dpe-dir /srv/documents --landing-root /srv/inbox",
      );
    },
    sees: {
      members: /laptop/,
      tools: /read/,
      "--timeout 10": /what is in notes\.txt/,
      desktop: /notes\.txt/,
      resources: /logo\.png/,
      "docs report": /report/i,
      "read dpe": /All is well/,
      prompts: /review/,
      "prompt review": /Review main\.ts/,
      "agent skills": /pdf-forms/,
      "agent put": /photo\.jpg/,
      config: /files/,
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
    given: async (given) => {
      await givenConfiguration(given);
      await given.serve("smcp-server");
    },
  },
  {
    page: started,
    has: "export HTTPS_PROXY=",
    given: givenProxy,
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
