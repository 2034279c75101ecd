import { readFile } from "node:fs/promises";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { reasonOf } from "../_values.ts";
import { type ComputerConfig, parseComputerConfig } from "./parse_config.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";

/**
 * Loads a configuration file: JSON, comments and trailing commas allowed (spec §4).
 *
 * @throws {ConfigError} that names file, line, path, problem and fix
 */
export async function loadComputerConfig(
  file: string,
): Promise<ComputerConfig> {
  return parseComputerConfigText(await read(file), file);
}

/**
 * Reads the text of a configuration file.
 *
 * @throws {ConfigError} as {@linkcode loadComputerConfig}
 */
export function parseComputerConfigText(
  text: string,
  file: string,
): ComputerConfig {
  const errors: ParseError[] = [];
  const tree = parseTree(text.replace(/^\ufeff/, " "), errors, {
    allowTrailingComma: true,
  });
  const [error] = errors;
  if (error || !tree) {
    const offset = error?.offset ?? 0;
    const what = error ? printParseErrorCode(error.error) : "the file is empty";
    throw new ConfigError(
      file,
      [{ path: [], text: `Cannot read it as JSON: ${what}` }],
      () => position(text, offset),
    );
  }
  return parseComputerConfig(getNodeValue(tree), file, (problem) => {
    const node = nearestNode(tree, problem);
    return position(text, node.offset);
  });
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error &&
      error.code === "ENOENT";
    throw new ConfigError(file, [{
      path: [],
      text: missing
        ? "Cannot read the configuration: there is no such file"
        : `Cannot read the configuration: ${reasonOf(error)}`,
    }]);
  }
}

/** What is missing is reported where it should stand. */
function nearestNode(tree: Node, { path }: ConfigProblem): Node {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node) return node;
  }
  return tree;
}

function position(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}
