import type { MCPServerInput } from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import { parseComputerConfig } from "../../config/parse_config.ts";
import { redactInput } from "../../config/redact.ts";
import {
  drawTable,
  jsonArgument,
  keptFile,
  oneWord,
  pretty,
  type ShellCommand,
  type ShellContext,
} from "./command.ts";

const ids = ({ computer }: ShellContext): string[] =>
  computer.inputs.definitions.map(({ id }) => id);

/** Parses definitions in the format of a configuration file. */
const readInputs = (inputs: unknown): readonly MCPServerInput[] =>
  parseComputerConfig({ servers: {}, inputs }, "what was typed").inputs;

const put = async (
  rest: string,
  context: ShellContext,
  mustBe: "new" | "known",
): Promise<string> => {
  const [input] = readInputs([await jsonArgument(rest)]);
  if (!input) throw new Error("expected the definition of an input");
  const known = ids(context).includes(input.id);
  if (known && mustBe === "new") {
    throw new Error(
      `there is an input "${input.id}" already; use inputs update`,
    );
  }
  if (!known && mustBe === "known") {
    throw new Error(`there is no input "${input.id}"; use inputs add`);
  }
  context.computer.inputs.put(input);
  return `${known ? "updated" : "added"} ${input.id}`;
};

/** Commands for the definitions of inputs. */
const DEFINITIONS: readonly ShellCommand[] = [
  {
    words: ["inputs", "load"],
    args: "@<file>",
    summary: "add or update the inputs of a list, or of a configuration",
    run: async (rest, { computer }) => {
      const value = await jsonArgument(
        rest.startsWith("@") ? rest : `@${rest}`,
      );
      const list = readInputs(isRecord(value) ? value.inputs ?? [] : value);
      list.forEach((input) => computer.inputs.put(input));
      return `loaded ${list.map(({ id }) => id).join(", ") || "nothing"}`;
    },
  },
  {
    words: ["inputs", "add"],
    args: "<json|@file>",
    kept: keptFile,
    summary: "define an input",
    run: (rest, context) => put(rest, context, "new"),
  },
  {
    words: ["inputs", "update"],
    args: "<json|@file>",
    kept: keptFile,
    summary: "redefine an input; its value is forgotten",
    run: (rest, context) => put(rest, context, "known"),
  },
  {
    words: ["inputs", "rm"],
    args: "<id>",
    summary: "forget an input and its value",
    values: ids,
    run: (rest, { computer }) => {
      const { id } = find(rest, computer.inputs.definitions);
      computer.inputs.remove(id);
      return `removed ${id}`;
    },
  },
  {
    words: ["inputs", "get"],
    args: "<id>",
    summary: "show the definition of an input",
    values: ids,
    run: (rest, { computer }) =>
      // As for Agents: a password has no default.
      pretty(redactInput(find(rest, computer.inputs.definitions))),
  },
  {
    words: ["inputs", "list"],
    summary: "list the definitions of inputs",
    run: (_, { computer, look }) => {
      const { definitions } = computer.inputs;
      if (definitions.length === 0) return "no inputs";
      return drawTable(
        ["id", "type", "description"],
        definitions.map(({ id, type, description }) => [id, type, description]),
        look(),
      );
    },
  },
];

/** Commands for the values of inputs; secrets are never shown. */
const VALUES: readonly ShellCommand[] = [
  {
    words: ["inputs", "value", "list"],
    summary: "list the values that are known; secrets stay hidden",
    run: async (_, { computer, look }) => {
      const values = await computer.inputs.values();
      if (values.length === 0) return "no inputs";
      return drawTable(
        ["id", "value"],
        values.map(({ id, known, value }) => [
          id,
          known
            ? value === undefined ? "(hidden)" : asText(value)
            : "(none yet)",
        ]),
        look(),
      );
    },
  },
  {
    words: ["inputs", "value", "get"],
    args: "<id>",
    summary: "show the value of an input; a secret stays hidden",
    values: ids,
    run: async (rest, { computer }) => {
      const { id } = find(rest, computer.inputs.definitions);
      const values = await computer.inputs.values();
      const value = values.find((value) => value.id === id);
      if (!value?.known) return "(none yet)";
      return value.value === undefined ? "(hidden)" : asText(value.value);
    },
  },
  {
    words: ["inputs", "value", "set"],
    args: "<id> [value]",
    kept: (rest) => rest.split(/\s/, 1)[0] ?? "",
    summary: "set a value; without one you are asked, unseen if it is secret",
    values: ids,
    run: async (rest, { computer, askInput }, signal) => {
      const [, id = "", value = ""] = /^(\S*)\s*([^]*)$/.exec(rest) ?? [];
      const input = find(id, computer.inputs.definitions);
      if (value !== "") computer.inputs.setValue(id, value);
      else if (!askInput || input.type === "command") {
        throw new Error("the value is missing");
      } else {
        const answer = await askInput(input, signal);
        if (answer === undefined) return "nothing set";
        computer.inputs.setValue(id, answer);
      }
      return `set ${id}; MCP servers get it with their next start`;
    },
  },
  {
    words: ["inputs", "value", "rm"],
    args: "<id>",
    summary: "forget a value; it is resolved again when needed",
    values: ids,
    run: (rest, { computer }) => {
      const { id } = find(rest, computer.inputs.definitions);
      computer.inputs.forgetValues(id);
      return `forgot the value of ${id}`;
    },
  },
  {
    words: ["inputs", "value", "clear"],
    summary: "forget all values",
    run: (_, { computer }) => {
      computer.inputs.forgetValues();
      return "forgot all values";
    },
  },
];

/** Commands for inputs. */
export const INPUT_COMMANDS: readonly ShellCommand[] = [
  ...DEFINITIONS,
  ...VALUES,
];

function find(rest: string, inputs: readonly MCPServerInput[]): MCPServerInput {
  const id = oneWord(rest, "the input's id");
  const input = inputs.find((input) => input.id === id);
  if (input) return input;
  throw new Error(
    `there is no input "${id}"; there ${
      inputs.length === 0 ? "are none" : `is ${inputs.map(({ id }) => id)}`
    }`,
  );
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
