import config from "../../../deno.json" with { type: "json" };
import { type HereName, runHere } from "../../support/command.ts";
import { scratch } from "../../support/scratch.ts";

/** A command of a shell script, as the shell would start it. */
export interface Command {
  /** The program and its arguments, after every expansion. */
  readonly words: readonly string[];
  /** The variables of this package that it would have. */
  readonly env: Readonly<Record<string, string>>;
}

const root = new URL("../../../", import.meta.url);

/** Where nothing is installed the shell asks this function, which notes what it was asked for. */
const NOTE_EVERYTHING = `
command_not_found_handle() {
  local name; local -a names=("\${!SMCP_@}") values=()
  for name in "\${names[@]}"; do values+=("$name=\${!name}"); done
  # At once: the parts of a pipe write side by side.
  printf '%s\\0' "$#" "$@" "\${#values[@]}" "\${values[@]}" >> "$NOTES"
}
`;

/** Lets bash take a script apart; all programs in it are noted, and none is started. */
export async function commandsOf(script: string): Promise<Command[]> {
  await using folder = await scratch();
  const notes = `${folder.path}/notes`;
  await Deno.writeTextFile(notes, "");
  await new Deno.Command("/bin/bash", {
    args: ["-c", NOTE_EVERYTHING + script],
    cwd: folder.path,
    clearEnv: true,
    env: { PATH: "/nowhere", HOME: folder.path, NOTES: notes },
    stdin: "null",
  }).output();
  return readNotes((await Deno.readTextFile(notes)).split("\0"));
}

function readNotes(fields: string[]): Command[] {
  const take = () => fields.splice(0, Number(fields.shift()));
  const commands: Command[] = [];
  while (fields.length > 1) {
    const words = take();
    const env = Object.fromEntries(
      take().map((pair) => [
        pair.slice(0, pair.indexOf("=")),
        pair.slice(pair.indexOf("=") + 1),
      ]),
    );
    commands.push({ words, env });
  }
  return commands;
}

/** Programs of others that the documentation may use. */
const OTHERS = [
  ...["cat", "cp", "mkdir", "openssl", "sha256sum", "grep", "cut", "npm"],
  ...[
    "node",
    "pip",
    "python",
    "deno",
    "docker",
    "kubectl",
    "curl",
    "git",
    "claude",
    "cloudflared",
  ],
  ...["wrangler", "@modelcontextprotocol/inspector@2.12.0"],
];

/** An option that no command has: who complains of it, and of it alone, took all the others. */
const SENTINEL = "--no-such-option-at-all";

/**
 * Says what is wrong with a command, by having the package's own parse it; nothing is carried out.
 *
 * @returns undefined for one that would run
 */
export async function mistakeIn(
  { words, env }: Command,
): Promise<string | undefined> {
  const line = words.join(" ");
  const command = unwrapped(words);
  if (!command) return `"${line}": there is no such task`;
  const start = startOf(command);
  if (!start) {
    return OTHERS.includes(command[0] ?? "") ? undefined : `what is "${line}"?`;
  }
  const { code, stderr } = await take(start, env);
  const text = stderr.trim();
  return code === 2 && text.startsWith(`error: unknown option '${SENTINEL}'`)
    ? undefined
    : `"${line}" ends with ${code}: ${text}`;
}

/** Lets a command parse its line: in this process, unless it has an environment, or options for Deno itself. */
async function take(
  { options, entry, args }: Start,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; stderr: string }> {
  const role = entry ?? args[0];
  const hasOwn = Object.keys(env).length > 0 || options.join() !== "-A";
  if (!hasOwn && isRole(role)) {
    const own = entry === undefined ? args.slice(1) : args;
    return await runHere(role, [...own, SENTINEL]);
  }
  const file = entry === undefined ? "mod.ts" : `${entry}/main.ts`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", "--frozen", ...options, file],
      ...[...args, SENTINEL],
    ],
    cwd: root,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

const isRole = (name: string | undefined): name is HereName =>
  ["server", "computer", "agent", "up", "clients"].includes(name ?? "");

/** What npx or a task starts in the end; undefined where there is no such task. */
function unwrapped(words: readonly string[]): readonly string[] | undefined {
  const [program, ...args] = words;
  if (program === "npx") {
    const at = args.findIndex((word, i) =>
      !word.startsWith("-") && args[i - 1] !== "-p"
    );
    return unwrapped(args.slice(at));
  }
  const [command, name = "", ...rest] = args;
  if (program !== "deno" || command !== "task") return words;
  const tasks: Record<string, string | { command: string }> = config.tasks;
  const task = tasks[name];
  if (task === undefined) return undefined;
  const line = typeof task === "string" ? task : task.command;
  return unwrapped([...line.split(" "), ...rest]);
}

/** How one of our commands is started with `deno run`. */
interface Start {
  /** Deno's own options. */
  readonly options: readonly string[];
  /** Which of the roles has the entrypoint; undefined for `smcp`, whose first argument names it. */
  readonly entry: HereName | undefined;
  readonly args: readonly string[];
}

/** How to do the same from this source; undefined for programs of others. */
function startOf([program = "", ...args]: readonly string[]):
  | Start
  | undefined {
  const [isOurs, role] = /^smcp(?:-(server|computer|agent))?$/.exec(program) ??
    [];
  if (isOurs) return { options: ["-A"], entry: roleOf(role), args };
  if (program !== "deno" || args.shift() !== "run") return undefined;
  const at = args.findIndex((word) => ENTRY.test(word));
  const [, jsr, file] = ENTRY.exec(args[at] ?? "") ?? [];
  if (at < 0) return undefined;
  return {
    options: args.slice(0, at),
    entry: roleOf(jsr ?? file),
    args: args.slice(at + 1),
  };
}

/** An entrypoint that is a command: on JSR, or in a clone. */
const ENTRY =
  /^(?:jsr:@a2c-smcp\/sdk(?:@[\d.]+)?(?:\/(server|computer|agent)\/main)?|(?:\S+\/a2c-smcp\/)?(?:(server|computer|agent)\/main\.ts|mod\.ts))$/;

const roleOf = (name: string | undefined): HereName | undefined =>
  isRole(name) ? name : undefined;
