import type { MCPServerInput } from "../../../protocol/mod.ts";
import { isRecord } from "../../../protocol/names.ts";
import type { SmcpComputer } from "../../computer.ts";
import type { InputValue } from "../../config/input_store.ts";
import { parseComputerConfig } from "../../config/parse_config.ts";
import { redactInput } from "../../config/redact.ts";
import {
  jsonArgument,
  oneWord,
  pretty,
  type ShellCommand,
  type ShellCommands,
  type ShellContext,
} from "./command.ts";

const ids = ({ computer }: ShellContext): string[] =>
  computer.inputs.definitions.map(({ id }) => id);

/** Parses definitions in the format of a configuration file. */
const readInputs = (inputs: unknown): readonly MCPServerInput[] =>
  parseComputerConfig({ servers: {}, inputs }, "what was typed").inputs;

/** @param isNew whether there must be none with its id; otherwise there must be one */
const put = (isNew: boolean): ShellCommand["run"] => async (rest, context) => {
  const [input] = readInputs([await jsonArgument(rest)]);
  if (!input) throw new Error("expected the definition of an input");
  const { id } = input;
  const isKnown = ids(context).includes(id);
  if (isKnown && isNew) {
    throw new Error(`there is an input "${id}" already; use inputs update`);
  }
  if (!isKnown && !isNew) {
    throw new Error(`there is no input "${id}"; use inputs add`);
  }
  context.computer.inputs.put(input);
  return `${isKnown ? "updated" : "added"} ${id}`;
};

/** Commands for the definitions of inputs, and for their values; secrets are never shown. */
export const INPUT_COMMANDS: ShellCommands = {
  "inputs load @<file>": {
    summary: "add or update the inputs of a list, or of a configuration",
    run: async (rest, { computer }) => {
      const file = rest.startsWith("@") ? rest : `@${rest}`;
      const value = await jsonArgument(file);
      const list = readInputs(isRecord(value) ? value.inputs ?? [] : value);
      list.forEach((input) => computer.inputs.put(input));
      return `loaded ${list.map(({ id }) => id).join(", ") || "nothing"}`;
    },
  },
  "inputs add <json|@file>": {
    summary: "define an input",
    run: put(true),
  },
  "inputs update <json|@file>": {
    summary: "redefine an input; its value is forgotten",
    run: put(false),
  },
  "inputs rm <id>": ofInput(
    "forget an input and its value",
    ({ id }, { inputs }) => {
      inputs.remove(id);
      return `removed ${id}`;
    },
  ),
  "inputs get <id>": ofInput(
    "show the definition of an input",
    (input) => pretty(redactInput(input)), // as for Agents: a password has no default
  ),
  "inputs list": {
    summary: "list the definitions of inputs",
    run: (_, { computer }) => ({
      none: "no inputs",
      head: ["id", "type", "description"],
      rows: computer.inputs.definitions
        .map(({ id, type, description }) => [id, type, description]),
    }),
  },
  "inputs value list": {
    summary: "list the values that are known; secrets stay hidden",
    run: async (_, { computer }) => {
      const values = await computer.inputs.values();
      const rows = values.map((value) => [value.id, shownValue(value)]);
      return { none: "no inputs", head: ["id", "value"], rows };
    },
  },
  "inputs value get <id>": ofInput(
    "show the value of an input; a secret stays hidden",
    async ({ id }, { inputs }) => {
      const values = await inputs.values();
      return shownValue(values.find((value) => value.id === id));
    },
  ),
  "inputs value set <id> [value]": {
    kept: (rest) => rest.split(/\s/, 1)[0] ?? "",
    summary: "set a value; without one it is asked for, hidden if it is secret",
    values: ids,
    run: async (rest, { computer, askInput }, signal) => {
      const [, id = "", value = ""] = /^(\S*)\s*([^]*)$/.exec(rest) ?? [];
      const input = find(id, computer);
      let answer: unknown = value;
      if (value === "") {
        if (!askInput || input.type === "command") {
          throw new Error("the value is missing");
        }
        answer = await askInput(input, signal);
      }
      if (answer === undefined) return "no value set";
      computer.inputs.setValue(id, answer);
      return `set ${id}; MCP servers get it with their next start`;
    },
  },
  "inputs value rm <id>": ofInput(
    "forget a value; it is resolved again when needed",
    ({ id }, { inputs }) => {
      inputs.forgetValues(id);
      return `forgot the value of ${id}`;
    },
  ),
  "inputs value clear": {
    summary: "forget all values",
    run: (_, { computer }) => {
      computer.inputs.forgetValues();
      return "forgot all values";
    },
  },
};

/** Makes a command that takes the id of an input. */
function ofInput(
  summary: string,
  run: (
    input: MCPServerInput,
    computer: SmcpComputer,
  ) => string | Promise<string>,
): ShellCommand {
  return {
    summary,
    values: ids,
    run: (rest, { computer }) => run(find(rest, computer), computer),
  };
}

function find(rest: string, { inputs }: SmcpComputer): MCPServerInput {
  const id = oneWord(rest, "the input's id");
  const { definitions } = inputs;
  const input = definitions.find((input) => input.id === id);
  if (input) return input;
  const ids = definitions.map(({ id }) => id);
  const known = ids.length === 0 ? "are none" : `is ${ids}`;
  throw new Error(`there is no input "${id}"; there ${known}`);
}

function shownValue(found: InputValue | undefined): string {
  if (!found?.known) return "(none yet)";
  const { value = "(hidden)" } = found;
  return typeof value === "string" ? value : JSON.stringify(value);
}
