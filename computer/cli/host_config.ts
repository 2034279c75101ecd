import { UsageError } from "../../cli/run.ts";
import type { MCPServerConfig, MCPServerInput } from "../../protocol/mod.ts";
import { loadComputerConfig } from "../config/load_config.ts";
import { nearestWord } from "../../shared/checks.ts";
import type { ComputerConfig } from "../config/parse_config.ts";
import { inputVariables } from "../util/inputs.ts";

/**
 * Loads the configuration of a command, and checks `--input` options against it.
 *
 * @throws {ConfigError} that names file, line, path, problem and fix
 * @throws {UsageError} when a value is given for an unknown input
 */
export async function loadHostConfig(
  file: string,
  values: Readonly<Record<string, unknown>>,
): Promise<ComputerConfig<MCPServerConfig>> {
  const config = await loadComputerConfig(file);
  for (const id of Object.keys(values)) {
    if (config.inputs.some((input) => input.id === id)) continue;
    throw new UsageError(
      `--input ${id}=…: ${file} has no input "${id}"; ${
        whichThereAre(id, config.inputs)
      }`,
    );
  }
  return config;
}

function whichThereAre(id: string, inputs: readonly MCPServerInput[]): string {
  const ids = inputs.map(({ id }) => id);
  const meant = nearestWord(id, ids);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  return ids.length === 0
    ? "it has no inputs"
    : `it has ${ids.map((id) => `"${id}"`).join(", ")}`;
}

/**
 * Describes environment variables that look like values of inputs but match no input.
 *
 * These are warnings, not errors: several Computers may share one environment.
 */
export function strayVariables(
  environment: Readonly<Record<string, string | undefined>>,
  inputs: readonly MCPServerInput[],
): string[] {
  const known = inputs.flatMap(({ id }) => inputVariables(id));
  return Object.keys(environment)
    .filter((name) => name.startsWith("SMCP_INPUT_") && !known.includes(name))
    .map((name) => {
      const meant = nearestWord(name, known);
      return `the environment variable ${name} matches no input of the configuration${
        meant === undefined ? "" : `; did you mean ${meant}?`
      }`;
    });
}
