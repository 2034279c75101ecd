import { readFileSync } from "node:fs";
import { connectionOptions } from "../../cli/server_flags.ts";
import { isVariableName } from "../../cli/env_file.ts";
import type { ServiceRole } from "../../cli/service/command.ts";
import { inputVariables, parseInputFlag } from "../util/inputs.ts";
import { addOffice, addRunFlags } from "./flags.ts";
import type { RunFlags } from "./run.ts";

/** The Computer as a service. */
export const computerService: ServiceRole<RunFlags> = {
  name: "smcp-computer",
  summary: "A2C-SMCP Computer: tools of MCP servers for agents",
  example: "--config computer.json --office demo",
  words: ["run", "--wait"], // the machine of the Server may start later
  addFlags: (command) => addOffice(addRunFlags(command)),
  except: ["--plain", "--wait"], // a service has no terminal, and waits anyway
  findSecret(flag, text) {
    if (flag === "--api-key") return ["SMCP_API_KEY", text];
    if (flag === "--token") return ["SMCP_TOKEN", text];
    if (flag === "--proxy" && text.includes("@")) return ["SMCP_PROXY", text];
    if (flag !== "--input") return undefined;
    const [id, value] = parseInputFlag(text);
    return [variableOf(id), value];
  },
  permissions: () => ["-A"],
  async check(flags, env, kept) {
    const [{ loadHostConfig }, { wantsPage }] = await Promise.all([
      import("./host_config.ts"),
      import("./ui/open_page.ts"),
    ]);
    const { inputs } = await loadHostConfig(flags.config, flags.input);
    connectionOptions(flags, (file) => readFileSync(file, "utf8"));
    const variables: Record<string, string> = {};
    for (const { id } of inputs) {
      const value = valueOf(id, env);
      if (value !== undefined) variables[variableOf(id)] = value;
    }
    const open = wantsPage(flags)
      ? []
      : inputs.filter((input) =>
        input.type === "promptString" && input.default === undefined &&
        flags.input[input.id] === undefined &&
        (valueOf(input.id, env) ?? valueOf(input.id, kept)) === undefined
      );
    return {
      variables,
      notes: [
        ...open.map(({ id }) =>
          `input "${id}" has no value, and a service can ask nobody; install again with --input ${id}=VALUE`
        ),
        ...(flags.yes || wantsPage(flags) ? [] : [
          "a service can ask nobody, so it refuses tools that need confirmation; set auto_apply in the configuration, or install again with --yes or --ui",
        ]),
      ],
    };
  },
};

const valueOf = (
  id: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined =>
  inputVariables(id).map((name) => env[name])
    .find((value) => value !== undefined);

/** Returns the strongest variable of an input that a file can hold; one of them always is. */
const variableOf = (id: string): string =>
  inputVariables(id).find(isVariableName) ?? id;
