import { type MCPServerInput, pickOptions } from "../../protocol/mod.ts";
import { environmentVariable, sharedVariable } from "./inputs.ts";

/** A problem of a definition. */
interface InputProblem {
  /** The index of the definition, and the field. */
  readonly path: readonly [number, string];
  /** The problem, and how to fix it. */
  readonly text: string;
}

/** Finds what is wrong with valid definitions. */
export const inputProblems = (
  inputs: readonly MCPServerInput[],
): InputProblem[] => [
  ...sharedVariables(inputs),
  ...inputs.flatMap((input, i): InputProblem[] => {
    const wrong = wrongOption(input);
    return wrong ? [{ path: [i, wrong.field], text: wrong.text }] : [];
  }),
];

/** Finds inputs that would get one environment variable, and so each other's secrets (protocol §4). */
export function sharedVariables(
  inputs: readonly MCPServerInput[],
): InputProblem[] {
  const first = new Map<string, string>();
  return inputs.flatMap(({ id }, i): InputProblem[] => {
    if (environmentVariable(id) !== undefined) return [];
    const variable = sharedVariable(id);
    const other = first.get(variable) ?? id;
    first.set(variable, other);
    if (other === id) return [];
    const text =
      `"${id}" and "${other}" have the same environment variable, ${variable}; rename one of them`;
    return [{ path: [i, "id"], text }];
  });
}

/** Finds a selection without options, or with a default that is none of them (protocol §4). */
function wrongOption(
  input: MCPServerInput,
): { readonly field: string; readonly text: string } | undefined {
  if (input.type !== "pickString") return undefined;
  const { default: fallback } = input;
  const options = pickOptions(input).map(({ value }) => value);
  if (options.length === 0) {
    const text =
      'it is empty; list at least one, or use "promptString" for any value';
    return { field: "options", text };
  }
  if (typeof fallback !== "string" || options.includes(fallback)) {
    return undefined;
  }
  const allowed = options.map((value) => JSON.stringify(value)).join(" or ");
  const text = `it is not one of its options; use ${allowed}`;
  return { field: "default", text };
}
