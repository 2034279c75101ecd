/** The package's commands: what npm calls them, and the entrypoint of each. */
const COMMANDS = {
  "smcp-server": "server/main",
  "smcp-computer": "computer/main",
  "smcp-agent": "agent/main",
  "smcp": "mod",
} as const;

const ROOT = /^(.*)\/cli\/own_command\.[jt]s$/;
const JSR = /^https:\/\/jsr\.io\/(@[^/]+\/[^/]+)\/([^/]+)$/;

/**
 * Says how to start a command of the package from where this one was started: what is told to a
 * person has to work when it is copied.
 *
 * @param program as `process.execPath` has it
 * @param module address of this very module
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

/** What to add to a help text whose examples call the command by its short name. */
export const commandHint = (
  name: keyof typeof COMMANDS,
  program: string,
): string => `\nHere ${name} is: ${ownCommand(name, program)}`;

/** Quotes a word for a POSIX shell where it needs it. */
export const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const pathOf = (url: string): string =>
  url.startsWith("file:")
    ? decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, "$1")
    : url;
