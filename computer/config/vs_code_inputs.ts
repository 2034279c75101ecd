import { isRecord } from "../util/values.ts";

/**
 * Brings VS Code's inputs into our own form.
 *
 * An input of type `command` runs a command of the editor, which is not here: a person, `--input`
 * or the environment gives its value instead.
 */
export const draftVsCodeInputs = (inputs: unknown): unknown =>
  Array.isArray(inputs) ? inputs.map(draftInput) : inputs;

function draftInput(input: unknown): unknown {
  if (!isRecord(input)) return input;
  const { id, type, command, options } = input;
  const described = { description: `${id}`, ...input };
  if (type === "command") {
    return {
      type: "promptString",
      id,
      description: `What the command ${command} of VS Code gives`,
      password: true,
    };
  }
  return type === "pickString" && Array.isArray(options)
    ? { ...described, options: options.map(valueOf) }
    : described;
}

/** An option is its value, or has a label beside it. */
const valueOf = (option: unknown): unknown =>
  isRecord(option) && "value" in option ? option.value : option;
