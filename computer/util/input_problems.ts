import { type MCPServerInput, pickOptions } from "../../protocol/mod.ts";
import { ENVIRONMENT_ID, sharedVariable } from "./inputs.ts";

/** A problem of a definition. */
interface InputProblem {
  /** The index of the definition, and the field. */
  readonly path: readonly [number, string];
  /** What is wrong, and how to fix it. */
  readonly text: string;
}

/** Finds what is wrong with valid definitions. */
export const inputProblems = (
  inputs: readonly MCPServerInput[],
): InputProblem[] => [...sharedVariables(inputs), ...wrongOptions(inputs)];

/** Finds inputs that would get one environment variable, and so each other's secrets (0.4 §14). */
export function sharedVariables(
  inputs: readonly MCPServerInput[],
): InputProblem[] {
  const first = new Map<string, string>();
  return inputs.flatMap(({ id }, i): InputProblem[] => {
    if (id.startsWith(ENVIRONMENT_ID)) return [];
    const variable = sharedVariable(id);
    const other = first.get(variable);
    if (other === undefined) first.set(variable, id);
    if (other === undefined || other === id) return [];
    return [{
      path: [i, "id"],
      text:
        `"${id}" and "${other}" have the same environment variable, ${variable}; rename one of them`,
    }];
  });
}

/** Finds inputs of which nothing can be picked, or whose default cannot (0.4 §9). */
const wrongOptions = (inputs: readonly MCPServerInput[]): InputProblem[] =>
  inputs.flatMap((input, i): InputProblem[] => {
    if (input.type !== "pickString") return [];
    if (input.options.length === 0) {
      return [{
        path: [i, "options"],
        text:
          'it is empty; list at least one, or use "promptString" for any value',
      }];
    }
    const options = pickOptions(input).map(({ value }) => value);
    const { default: fallback } = input;
    if (typeof fallback !== "string" || options.includes(fallback)) return [];
    return [{
      path: [i, "default"],
      text: `it is not one of its options; use ${
        options.map((value) => JSON.stringify(value)).join(" or ")
      }`,
    }];
  });
