/** Begins the id of an input that stands for a variable of the environment, as in `${env:HOME}`. */
export const ENVIRONMENT_ID = "env:";

/**
 * The environment variables that may hold an input's value; the first that is set counts.
 *
 * `SMCP_INPUT_` and the id as it is, then the id in capitals with `_` for all that a shell does
 * not take in a name: `github-token` is `SMCP_INPUT_GITHUB_TOKEN`. An id such as `env:HOME` is
 * the variable `HOME` itself.
 */
export function inputVariables(id: string): string[] {
  const own = id.startsWith(ENVIRONMENT_ID)
    ? [id.slice(ENVIRONMENT_ID.length)]
    : [];
  const plain = id.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
  return [
    ...new Set([...own, `SMCP_INPUT_${id}`, `SMCP_INPUT_${plain}`]),
  ];
}

/**
 * Reads `ID=VALUE`; the value may be empty, or hold further `=`.
 *
 * @throws {TypeError} when there is no id; never shows the value
 */
export function parseInputFlag(text: string): [id: string, value: string] {
  const sign = text.indexOf("=");
  if (sign > 0) return [text.slice(0, sign), text.slice(sign + 1)];
  throw new TypeError(
    sign === 0
      ? "Cannot read an input: there is nothing before the '='; write ID=VALUE"
      : "Cannot read an input: there is no '=' in it; write ID=VALUE",
  );
}

/** Says that an input has no value, and how to give it one. */
export function noValue(id: string): string {
  const variable = inputVariables(id)[id.startsWith(ENVIRONMENT_ID) ? 0 : 1] ??
    `SMCP_INPUT_${id}`;
  return `input "${id}" has no value; give one with --input ${id}=VALUE or the environment variable ${variable}`;
}

/** Says that a placeholder names nothing. */
export const notDefined = (id: string): string =>
  `there is no input "${id}"; define it under "inputs", or correct \${input:${id}}`;
