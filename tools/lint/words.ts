/**
 * Words that were replaced by plain technical English, so that they do not come back: of people in
 * place of programs, and names that only their author understood.
 *
 * @module
 */

/** Words of messages, comments and documentation, each with what to write instead. */
const WORDS: Readonly<Record<string, string>> = {
  nobody: "no client, no person, or what is refused",
  somebody: "a person, another client or process",
  says: "names, shows, contains or reports",
  tells: "notifies, reports or shows",
  told: "notified, given or configured",
  wants: "requires, requests or calls",
};

/** Parts of names in code, each with what to write instead. */
const NAMES: Readonly<Record<string, string>> = {
  Face: "the protocol or API that it serves",
  Shelf: "the store, cache or list that it is",
  Desk: "the queue or registry that it is",
  Voice: "the messages or texts that it has",
  Wish: "the request or option that it is",
  Way: "the route, connection or kind that it is",
  PATIENCE_MS: "what the time limit is for",
};

const WORD = new RegExp(`\\b(${Object.keys(WORDS).join("|")})\\b`, "gi");

/** Also as the first part of a name, which is in lower case; a word such as `interface` is none. */
const NAME = new RegExp(
  Object.keys(NAMES).flatMap((name) => [
    `(?<![A-Z])${name}(?![a-z]|Top)`, // `GetDeskTop` is a name of the protocol
    `\\b${name[0]?.toLowerCase()}${name.slice(1)}(?=[A-Z])`,
  ]).join("|"),
  "g",
);

/** Finds replaced words and names in the text of a source file, as `line: word: remedy`. */
export const findInSource = (source: string): string[] => [
  ...matches(source, WORD, (word) => WORDS[word.toLowerCase()]),
  ...matches(
    source,
    NAME,
    (name) => NAMES[`${name[0]?.toUpperCase()}${name.slice(1)}`],
  ),
];

/** Finds replaced words in a page of Markdown, outside of code, which others may have written. */
export const findInPage = (page: string): string[] =>
  matches(
    page.replaceAll(CODE, (code) => code.replaceAll(/[^\n]/g, " ")),
    WORD,
    (word) => WORDS[word.toLowerCase()],
  );

/** A block or a span of code. */
const CODE = /^```[^]*?^```|`[^`]*`/gm;

const matches = (
  text: string,
  pattern: RegExp,
  remedy: (match: string) => string | undefined,
): string[] =>
  [...text.matchAll(pattern)].map(({ 0: match, index }) => {
    const line = text.slice(0, index).split("\n").length;
    return `${line}: ${match}: write ${remedy(match)}`;
  });
