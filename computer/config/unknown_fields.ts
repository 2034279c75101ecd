import {
  baseServerFields,
  inputFields,
  type ServerFields,
  serverFields,
  toolMetaFields,
} from "../../protocol/payloads/config_file.ts";
import { isRecord } from "../util/values.ts";
import { nearestWord } from "../../shared/checks.ts";
import type { ConfigPath, ConfigProblem } from "./problem.ts";
import { isInProcess } from "./server_config.ts";

/**
 * How unknown fields are treated. In our own format each is an error; in another program's format,
 * where they may be valid, only those that look like a misspelled field of ours.
 */
export type Strictness = "own" | "foreign";

/** The fields of an MCP server in process. */
const IN_PROCESS_FIELDS: ServerFields = {
  own: [...baseServerFields, "type", "server"],
  parameters: [],
};

/** The top-level fields of our own format. */
const FILE_FIELDS = ["$schema", "inputs", "servers"];

/** Finds unknown top-level fields of a file. */
export const unknownFileFields = (
  file: Readonly<Record<string, unknown>>,
  strictness: Strictness,
): ConfigProblem[] =>
  strictness === "own"
    ? unknownIn(file, FILE_FIELDS, "own")
    : unknownIn(file, [...FILE_FIELDS, "mcpServers"], "foreign");

/** Finds unknown fields of an MCP server in our format; missing fields are not reported. */
export function unknownServerFields(
  entry: unknown,
  strictness: Strictness,
): ConfigProblem[] {
  if (!isRecord(entry)) return [];
  const { type, server_parameters, tool_meta, default_tool_meta } = entry;
  const fields = serverFields.get(type) ??
    (isInProcess(entry) ? IN_PROCESS_FIELDS : undefined);
  const metas = isRecord(tool_meta) ? Object.entries(tool_meta) : [];
  return [
    ...fields ? unknownIn(entry, fields.own, strictness) : [],
    ...fields
      ? below(
        ["server_parameters"],
        unknownIn(server_parameters, fields.parameters, strictness),
      )
      : [],
    // Later versions may add fields here (spec §4), so only misspelled ones are errors.
    ...metas.flatMap(([tool, meta]) =>
      below(["tool_meta", tool], unknownIn(meta, toolMetaFields, "foreign"))
    ),
    ...below(
      ["default_tool_meta"],
      unknownIn(default_tool_meta, toolMetaFields, "foreign"),
    ),
  ];
}

/** Finds unknown fields of input definitions. */
export const unknownInputFields = (
  inputs: unknown,
  strictness: Strictness,
): ConfigProblem[] =>
  (Array.isArray(inputs) ? inputs : []).flatMap((input, i) => {
    const fields = isRecord(input) && inputFields.get(input.type);
    return fields ? below([i], unknownIn(input, fields, strictness)) : [];
  });

/** Finds misspelled fields among those that restrict something in another program's format. */
export const misspelledGuards = (
  entry: Readonly<Record<string, unknown>>,
  guards: readonly string[],
): ConfigProblem[] => unknownIn(entry, guards, "foreign");

function unknownIn(
  value: unknown,
  known: readonly string[],
  strictness: Strictness,
): ConfigProblem[] {
  if (!isRecord(value)) return [];
  return Object.keys(value).flatMap((field) => {
    if (known.includes(field)) return [];
    const meant = nearestWord(field, known);
    if (meant === undefined && strictness === "foreign") return [];
    return [{
      path: [field],
      text: meant === undefined
        ? `unknown field; remove it, or use one of ${known.join(", ")}`
        : `unknown field; did you mean "${meant}"?`,
    }];
  });
}

const below = (
  path: ConfigPath,
  problems: readonly ConfigProblem[],
): ConfigProblem[] =>
  problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
