import type { MCPServerInput } from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import type { InputValue } from "../../config/input_store.ts";
import { parseComputerConfig } from "../../config/parse_config.ts";
import { redactInput } from "../../config/redact.ts";
import {
  jsonArgument,
  keptFile,
  listed,
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

/** @param isNew whether there must be none with its id; otherwise there must be one */
async function put(
  rest: string,
  context: ShellContext,
  isNew: boolean,
): Promise<string> {
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
}

/** Commands for the definitions of inputs, and for their values; secrets are never shown. */
export const INPUT_COMMANDS: readonly ShellCommand[] = [
  {
    words: ["inputs", "load"],
    args: "@<file>",
    summary: "add or update the inputs of a list, or of a configuration",
    run: async (rest, { computer }) => {
      const file = rest.startsWith("@") ? rest : `@${rest}`;
      const value = await jsonArgument(file);
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
    run: (rest, context) => put(rest, context, true),
  },
  {
    words: ["inputs", "update"],
    args: "<json|@file>",
    kept: keptFile,
    summary: "redefine an input; its value is forgotten",
    run: (rest, context) => put(rest, context, false),
  },
  {
    words: ["inputs", "rm"],
    args: "<id>",
    summary: "forget an input and its value",
    values: ids,
    run: (rest, context) => {
      const { id } = find(rest, context);
      context.computer.inputs.remove(id);
      return `removed ${id}`;
    },
  },
  {
    words: ["inputs", "get"],
    args: "<id>",
    summary: "show the definition of an input",
    values: ids,
    // As for Agents: a password has no default.
    run: (rest, context) => pretty(redactInput(find(rest, context))),
  },
  {
    words: ["inputs", "list"],
    summary: "list the definitions of inputs",
    run: (_, context) =>
      listed(
        "no inputs",
        ["id", "type", "description"],
        context.computer.inputs.definitions
          .map(({ id, type, description }) => [id, type, description]),
        context,
      ),
  },
  {
    words: ["inputs", "value", "list"],
    summary: "list the values that are known; secrets stay hidden",
    run: async (_, context) => {
      const values = await context.computer.inputs.values();
      const rows = values.map((value) => [value.id, shownValue(value)]);
      return listed("no inputs", ["id", "value"], rows, context);
    },
  },
  {
    words: ["inputs", "value", "get"],
    args: "<id>",
    summary: "show the value of an input; a secret stays hidden",
    values: ids,
    run: async (rest, context) => {
      const { id } = find(rest, context);
      const values = await context.computer.inputs.values();
      return shownValue(values.find((value) => value.id === id));
    },
  },
  {
    words: ["inputs", "value", "set"],
    args: "<id> [value]",
    kept: (rest) => rest.split(/\s/, 1)[0] ?? "",
    summary: "set a value; without one you are asked, unseen if it is secret",
    values: ids,
    run: async (rest, context, signal) => {
      const { computer: { inputs }, askInput } = context;
      const [, id = "", value = ""] = /^(\S*)\s*([^]*)$/.exec(rest) ?? [];
      const input = find(id, context);
      if (value !== "") inputs.setValue(id, value);
      else if (!askInput || input.type === "command") {
        throw new Error("the value is missing");
      } else {
        const answer = await askInput(input, signal);
        if (answer === undefined) return "nothing set";
        inputs.setValue(id, answer);
      }
      return `set ${id}; MCP servers get it with their next start`;
    },
  },
  {
    words: ["inputs", "value", "rm"],
    args: "<id>",
    summary: "forget a value; it is resolved again when needed",
    values: ids,
    run: (rest, context) => {
      const { id } = find(rest, context);
      context.computer.inputs.forgetValues(id);
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

function find(rest: string, context: ShellContext): MCPServerInput {
  const id = oneWord(rest, "the input's id");
  const { definitions } = context.computer.inputs;
  const input = definitions.find((input) => input.id === id);
  if (input) return input;
  const known = definitions.length === 0 ? "are none" : `is ${ids(context)}`;
  throw new Error(`there is no input "${id}"; there ${known}`);
}

function shownValue(found: InputValue | undefined): string {
  if (!found?.known) return "(none yet)";
  const { value = "(hidden)" } = found;
  return typeof value === "string" ? value : JSON.stringify(value);
}
