import {
  inputFields,
  serverFields,
  toolMetaFields,
} from "../../protocol/payloads/config_fields.ts";
import { isRecord } from "../util/values.ts";
import { nearestWord } from "./nearest_word.ts";
import type { ConfigPath, ConfigProblem } from "./problem.ts";

/**
 * How fields that nobody knows are taken: in our own form each is an error; elsewhere another
 * program may know them, and only what looks like a slip in a field of ours is one.
 */
export type Strictness = "own" | "foreign";

/** The fields at the top of our own form. */
const FILE_FIELDS = ["$schema", "inputs", "servers"];

/** Finds fields of a file that nobody knows. */
export const unknownFileFields = (
  file: Readonly<Record<string, unknown>>,
  strictness: Strictness,
): ConfigProblem[] =>
  strictness === "own"
    ? unknownIn(file, FILE_FIELDS, "own")
    : unknownIn(file, [...FILE_FIELDS, "mcpServers"], "foreign");

/** Finds fields of one MCP server in our form that nobody knows; what it has not is no matter. */
export function unknownServerFields(
  entry: unknown,
  strictness: Strictness,
): ConfigProblem[] {
  if (!isRecord(entry)) return [];
  const { type, server_parameters, tool_meta, default_tool_meta } = entry;
  const fields = serverFields.get(type);
  const metas = isRecord(tool_meta) ? Object.entries(tool_meta) : [];
  return [
    ...fields ? unknownIn(entry, fields.own, strictness) : [],
    ...fields
      ? below(
        ["server_parameters"],
        unknownIn(server_parameters, fields.parameters, strictness),
      )
      : [],
    // Later versions have more of these (spec §4): only slips are errors.
    ...metas.flatMap(([tool, meta]) =>
      below(["tool_meta", tool], unknownIn(meta, toolMetaFields, "foreign"))
    ),
    ...below(
      ["default_tool_meta"],
      unknownIn(default_tool_meta, toolMetaFields, "foreign"),
    ),
  ];
}

/** Finds fields of definitions of inputs that nobody knows. */
export const unknownInputFields = (
  inputs: unknown,
  strictness: Strictness,
): ConfigProblem[] =>
  (Array.isArray(inputs) ? inputs : []).flatMap((input, i) => {
    const fields = isRecord(input) && inputFields.get(input.type);
    return fields ? below([i], unknownIn(input, fields, strictness)) : [];
  });

/** Finds slips in the fields of another program's form that guard something. */
export const slipsIn = (
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
        ? `there is no such field; remove it, or use one of ${known.join(", ")}`
        : `there is no such field; did you mean "${meant}"?`,
    }];
  });
}

const below = (
  path: ConfigPath,
  problems: readonly ConfigProblem[],
): ConfigProblem[] =>
  problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
