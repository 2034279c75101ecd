import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ConfigError, type ConfigPath, type ConfigProblem } from "./problem.ts";

/** Parsed JSON or TOML, with the places of its values. */
export interface ReadData {
  /** The value; of a duplicate key, the last one. */
  readonly value: unknown;
  /** Duplicate keys. */
  readonly problems: readonly ConfigProblem[];
  /** Returns line and column of a problem, if known. */
  readonly locate: (problem: ConfigProblem) => string | undefined;
}

/**
 * Reads JSON with comments and trailing commas.
 *
 * @param file name for errors
 * @throws {ConfigError} when the text is not JSON
 */
export function readJsonText(text: string, file: string): ReadData {
  const position = ({ offset }: { offset: number }) => {
    const before = text.slice(0, offset).split("\n");
    return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  };
  const errors: ParseError[] = [];
  const tree = parseTree(text.replace(/^\ufeff/, " "), errors, {
    allowTrailingComma: true,
  });
  const [error] = errors;
  if (error || !tree) {
    const what = error && text.trim() !== ""
      ? JSON_ERRORS[printParseErrorCode(error.error)] ?? "it is not JSON"
      : "the file is empty";
    throw new ConfigError(
      file,
      [{ path: [], text: `Cannot read it as JSON: ${what}` }],
      () => position(error ?? { offset: 0 }),
    );
  }
  const second = new Map<ConfigProblem, Node>();
  for (const { first, again, path } of duplicateKeys(tree, [])) {
    const text = `duplicate key, first at ${
      position(first)
    }; remove one of them`;
    second.set({ path, text }, again);
  }
  return {
    value: getNodeValue(tree),
    problems: [...second.keys()],
    locate: (problem) =>
      position(second.get(problem) ?? nearestNode(tree, problem.path)),
  };
}

/** Messages by the parser's error codes. */
const JSON_ERRORS: Readonly<Record<string, string>> = {
  InvalidSymbol:
    'this is not a value; a string is written in double quotes: "like this"',
  InvalidNumberFormat: "this is not a number",
  PropertyNameExpected: "expected a name in double quotes here",
  ValueExpected: "a value is missing here",
  ColonExpected: 'expected ":" here, between the name and its value',
  CommaExpected: 'expected "," here, before the next item',
  CloseBraceExpected: 'expected "}" here',
  CloseBracketExpected: 'expected "]" here',
  EndOfFileExpected: "there is something after the end",
  InvalidCommentToken: "this is not a comment; write // or /* */",
  UnexpectedEndOfComment: "a comment is not closed",
  UnexpectedEndOfString: 'a string is not closed; a " is missing',
  UnexpectedEndOfNumber: "a number is incomplete",
  InvalidUnicode: "expected four hexadecimal digits after \\u",
  InvalidEscapeCharacter:
    'this is not an escape sequence; write "\\\\" for a backslash',
  InvalidCharacter:
    "a string contains a line break, a tab or another control character; write \\n or \\t",
};

/** Finds duplicate keys. `JSON.parse` would silently take the last one and drop, say, a restriction. */
function duplicateKeys(
  node: Node,
  path: ConfigPath,
): { first: Node; again: Node; path: ConfigPath }[] {
  const seen = new Map<string, Node>();
  return (node.children ?? []).flatMap((child, i) => {
    if (node.type !== "object") return duplicateKeys(child, [...path, i]);
    const [name, value] = child.children ?? [];
    if (!name || !value) return [];
    const inner = [...path, `${name.value}`];
    const below = duplicateKeys(value, inner);
    const first = seen.get(name.value);
    if (first) return [{ first, again: name, path: inner }, ...below];
    seen.set(name.value, name);
    return below;
  });
}

/** Finds the node of a path; a missing field is reported at its parent. */
const nearestNode = (tree: Node, path: ConfigPath): Node =>
  path.length === 0 ? tree : findNodeAtLocation(tree, [...path]) ??
    nearestNode(tree, path.slice(0, -1));
