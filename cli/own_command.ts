/** The commands of the package by their names in npm, each with its entrypoint. */
const COMMANDS = {
  "smcp-server": "server/main",
  "smcp-computer": "computer/main",
  "smcp-agent": "agent/main",
  "smcp": "mod",
} as const;

const ROOT = /^(.*)\/cli\/own_command\.[jt]s$/;
const JSR = /^https:\/\/jsr\.io\/(@[^/]+\/[^/]+)\/([^/]+)$/;

/**
 * Returns the command line that starts a command of the package the way this process was started, so
 * that it works when it is copied.
 *
 * @param program the value of `process.execPath`
 * @param module the URL of this module
 */
export function ownCommand(
  name: keyof typeof COMMANDS,
  program: string,
  module: string = import.meta.url,
): string {
  const root = ROOT.exec(module)?.[1];
  if (root === undefined) return name; // bundled
  if (/\bnode(\.exe)?$/.test(program)) return `npx ${name}`;
  if (!/\bdeno(\.exe)?$/.test(program)) return name; // compiled
  const [, scope, version] = JSR.exec(root) ?? [];
  const entry = COMMANDS[name];
  return `deno run -A ${
    scope === undefined
      ? shellWord(pathOf(`${root}/${entry}.ts`))
      : `jsr:${scope}@${version}${entry === "mod" ? "" : `/${entry}`}`
  }`;
}

/** Explains the short name of a command below a help text that uses it. */
export const commandHint = (
  name: keyof typeof COMMANDS,
  program: string,
): string => `\nHere ${name} is: ${ownCommand(name, program)}`;

/** Quotes a word for a POSIX shell where necessary. */
export const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const pathOf = (url: string): string =>
  url.startsWith("file:")
    ? decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, "$1")
    : url;
