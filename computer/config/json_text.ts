import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ConfigError, type ConfigPath, type ConfigProblem } from "./problem.ts";

/** What a text of JSON holds, and where. */
export interface ReadJson {
  /** Its value; of a key that is there twice, the last one's. */
  readonly value: unknown;
  /** Keys that are there twice. */
  readonly problems: readonly ConfigProblem[];
  /** Line and column of a problem. */
  readonly locate: (problem: ConfigProblem) => string;
}

/**
 * Reads JSON with comments and trailing commas.
 *
 * @param file is named in errors
 * @throws {ConfigError} when it is not JSON at all
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

/** What stands before a person, by the parser's own name of it. */
const JSON_ERRORS: Readonly<Record<string, string>> = {
  InvalidSymbol:
    'this is no value; a text stands in double quotes: "like this"',
  InvalidNumberFormat: "this is no number",
  PropertyNameExpected: "expected a name in double quotes here",
  ValueExpected: "a value is missing here",
  ColonExpected: 'expected ":" here, between the name and its value',
  CommaExpected: 'expected "," here, before what comes next',
  CloseBraceExpected: 'expected "}" here',
  CloseBracketExpected: 'expected "]" here',
  EndOfFileExpected: "there is something after the end",
  InvalidCommentToken: "this is no comment; write // or /* */",
  UnexpectedEndOfComment: "a comment has no end",
  UnexpectedEndOfString: 'a text has no end; a " is missing',
  UnexpectedEndOfNumber: "a number has no end",
  InvalidUnicode: "expected four hexadecimal digits after \\u",
  InvalidEscapeCharacter:
    'this means nothing after "\\"; write "\\\\" for the sign itself',
  InvalidCharacter:
    "a line break, a tab or the like stands in a text; write \\n or \\t",
};

/** JSON takes the last of them without a word: what the first one guarded would be open. */
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
    const text = `it is there twice, first at ${
      positionOf(first)
    }; remove one of them`;
    return [
      { problem: { path: [...path, key], text }, offset: name.offset },
      ...below,
    ];
  });
}

/** What is missing is reported where it should stand. */
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
