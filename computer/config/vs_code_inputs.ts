import { isRecord } from "../util/values.ts";

/**
 * Converts VS Code's inputs to our own format.
 *
 * An input of type `command` runs a command of the editor, which is not available here; its value
 * comes from the user, `--input` or the environment instead.
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
      description: `The result of VS Code's command ${command}`,
      password: true,
    };
  }
  return type === "pickString" && Array.isArray(options)
    ? { ...described, options: options.map(valueOf) }
    : described;
}

/** Returns the value of an option, which may be an object with a label. */
const valueOf = (option: unknown): unknown =>
  isRecord(option) && "value" in option ? option.value : option;
