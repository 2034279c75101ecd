import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ConfigError, type ConfigPath, type ConfigProblem } from "./problem.ts";

/** Parsed JSON, with the places of its values. */
interface ReadJson {
  /** The value; of a duplicate key, the last one. */
  readonly value: unknown;
  /** Duplicate keys. */
  readonly problems: readonly ConfigProblem[];
  /** Returns line and column of a problem. */
  readonly locate: (problem: ConfigProblem) => string;
}

/**
 * Reads JSON with comments and trailing commas.
 *
 * @param file name for errors
 * @throws {ConfigError} when the text is not JSON
 */
export function readJsonText(text: string, file: string): ReadJson {
  const errors: ParseError[] = [];
  const tree = parseTree(text.replace(/^\ufeff/, " "), errors, {
    allowTrailingComma: true,
  });
  const [error] = errors;
  if (error || !tree) {
    const offset = error?.offset ?? 0;
    const what = error && text.trim() !== ""
      ? JSON_ERRORS[printParseErrorCode(error.error)] ?? "it is not JSON"
      : "the file is empty";
    throw new ConfigError(
      file,
      [{ path: [], text: `Cannot read it as JSON: ${what}` }],
      () => position(text, offset),
    );
  }
  const problems = duplicateKeys(tree, [], (offset) => position(text, offset));
  const second = new Map(
    problems.map(({ problem, offset }) => [problem, offset]),
  );
  return {
    value: getNodeValue(tree),
    problems: problems.map(({ problem }) => problem),
    locate: (problem) =>
      position(
        text,
        second.get(problem) ?? nearestNode(tree, problem.path).offset,
      ),
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
  positionOf: (offset: number) => string,
): { problem: ConfigProblem; offset: number }[] {
  const seen = new Map<string, number>();
  return (node.children ?? []).flatMap((child, i) => {
    if (node.type !== "object") {
      return duplicateKeys(child, [...path, i], positionOf);
    }
    const [name, value] = child.children ?? [];
    if (!name || !value) return [];
    const key = `${name.value}`;
    const below = duplicateKeys(value, [...path, key], positionOf);
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, name.offset);
      return below;
    }
    const text = `duplicate key, first at ${
      positionOf(first)
    }; remove one of them`;
    return [
      { problem: { path: [...path, key], text }, offset: name.offset },
      ...below,
    ];
  });
}

/** Finds the node of a path; a missing field is reported at its parent. */
function nearestNode(tree: Node, path: ConfigPath): Node {
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
