/** One of the package's commands, as a page has it. */
export interface Command {
  /** The folder of its `main.ts`. */
  readonly role: string;
  /** What follows it. */
  readonly args: readonly string[];
}

const root = new URL("../../", import.meta.url);

/** The package's commands in a shell script, by either name; other commands are left out. */
export function commandsIn(script: string): Command[] {
  return script.replaceAll(/\\\n/g, " ").split("\n").flatMap((line) => {
    const words = line.replace(/ #.*/, "").match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
    const at = words.findIndex((word) => ROLE.test(word));
    const [, bin, main] = ROLE.exec(words[at] ?? "") ?? [];
    const role = bin ?? main;
    if (role === undefined) return [];
    const rest = words.slice(at + 1);
    const end = rest.findIndex((word) => /^[|>&;]/.test(word));
    return [{ role, args: end < 0 ? rest : rest.slice(0, end) }];
  });
}

/** `smcp-agent`, or `agent/main.ts` of `deno run`. */
const ROLE =
  /^(?:smcp-(server|computer|agent)|(server|computer|agent)\/main\.ts)$/;

/**
 * Says what is wrong with a command, asking its own `--help`.
 *
 * @returns undefined when it knows every flag, and the subcommand
 */
export async function mistakeIn(
  { role, args }: Command,
): Promise<string | undefined> {
  const [first = ""] = args;
  const sub = role === "server" || first.startsWith("-") ? [] : [first];
  const help = await helpOf(role, sub);
  const usage = ["Usage:", `smcp-${role}`, ...sub].join(" ");
  if (!help.startsWith(usage)) return `there is no smcp-${role} ${first}`;
  const unknown = args.slice(sub.length)
    .flatMap((word) => word.match(/^--[\w-]+/) ?? [])
    .filter((flag) => !new RegExp(`^ .*${flag}[ ,]`, "m").test(help));
  return unknown.length === 0
    ? undefined
    : `smcp-${[role, ...sub].join(" ")} does not know ${unknown.join(", ")}`;
}

const helps = new Map<string, Promise<string>>();

function helpOf(role: string, sub: readonly string[]): Promise<string> {
  const key = [role, ...sub].join(" ");
  const known = helps.get(key) ?? askForHelp(role, sub);
  helps.set(key, known);
  return known;
}

async function askForHelp(
  role: string,
  sub: readonly string[],
): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--frozen", `${role}/main.ts`, ...sub, "--help"],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout);
}
