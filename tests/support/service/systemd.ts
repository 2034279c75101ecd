import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installPrograms, missingPrograms } from "../cluster/install.ts";
import { scratch } from "../scratch.ts";

/** The program that systemd itself is. */
const MANAGER = ["/usr/lib/systemd/systemd", "/lib/systemd/systemd"]
  .find((file) => existsSync(file));

const hasAnalyze = (await missingPrograms(["systemd-analyze"])).length === 0;

/** Says why tests with systemd are skipped; "" where it is there. */
export const WITHOUT_SYSTEMD = MANAGER !== undefined && hasAnalyze
  ? ""
  : " (skipped: systemd is not installed)";

/**
 * Installs Debian's systemd, which then starts nothing; does nothing where that is not possible,
 * since tests without it are skipped.
 */
export async function installSystemd(): Promise<void> {
  try {
    await installPrograms({ "systemd-analyze": "systemd" });
  } catch (error) {
    console.log(`Tests with systemd will be skipped: ${error}`);
  }
}

/** A user who may ask for services of a user; root may not. */
const NOBODY = 65_534;

/** What systemd reads in a unit. */
export interface ReadUnit {
  /** Program and arguments, before variables are put in. */
  readonly command: readonly string[];
  /** The working directory. */
  readonly directory: string;
  /** The variables. */
  readonly environment: readonly string[];
  /** Everything that it says of the unit. */
  readonly dump: string;
}

/**
 * Lets the systemd of this machine read a unit, without starting anything.
 *
 * The program has to exist, for all users.
 *
 * @throws {Error} with its complaints, warnings included
 */
export async function readUnit(text: string): Promise<ReadUnit> {
  await using folder = await scratch();
  const run = join(folder.path, "run");
  const units = join(folder.path, "config", "systemd", "user");
  await mkdir(units, { recursive: true });
  await mkdir(run);
  const file = join(units, "tested.service");
  await writeFile(file, text);
  // Its directories belong to nobody, who runs it.
  for (const path of [folder.path, run]) await chmod(path, 0o777);
  const env = {
    HOME: folder.path,
    XDG_CONFIG_HOME: join(folder.path, "config"),
    XDG_RUNTIME_DIR: run,
  };
  const verified = await output("systemd-analyze", [
    ...["--user", "--recursive-errors=no", "verify", file],
  ], env);
  if (verified.code !== 0 || verified.text.includes("tested.service")) {
    throw new Error(`systemd-analyze verify: ${verified.text}`);
  }
  const dumped = await output(MANAGER ?? "", [
    ...["--user", "--test", "--unit=tested.service"],
  ], env);
  const [, dump = ""] = /-> Unit tested\.service:\n([^]*?)(?=\n\t?-> Unit|$)/
    .exec(dumped.text) ?? [];
  // A line of systemd ends at \n alone; a regular expression knows more ends.
  const lines = dump.split("\n");
  const field = (name: string) =>
    lines.flatMap((line) =>
      new RegExp(`^\\t+${name}: (.*)$`, "s").exec(line)?.[1] ?? []
    );
  const [command = ""] = field("Command Line");
  const [directory = ""] = field("WorkingDirectory");
  return {
    command: words(command),
    directory,
    environment: field("Environment"),
    dump,
  };
}

/** What a service gets of a word: systemd puts "$" in place of "$$". */
export const expanded = (word: string): string => word.replaceAll("$$", "$");

async function output(
  program: string,
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    env,
    ...(Deno.uid() === 0 && { uid: NOBODY, gid: NOBODY }),
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Reads a command line as systemd prints it: words, quoted where necessary. */
const words = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"|([^ ]+)/g)].map((
    [, quoted, bare = ""],
  ) => quoted === undefined ? bare : unescape(quoted));

const SIGNS: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Octal and hexadecimal escapes are bytes of UTF-8. */
function unescape(text: string): string {
  const encoder = new TextEncoder();
  const bytes = text.matchAll(
    /\\([0-7]{3})|\\x([0-9a-f]{2})|\\(.)|([^\\]+)/gs,
  );
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    Uint8Array.from(
      [...bytes].flatMap(([, octal, hex, sign, plain]) =>
        octal !== undefined
          ? [parseInt(octal, 8)]
          : hex !== undefined
          ? [parseInt(hex, 16)]
          : [...encoder.encode(plain ?? SIGNS[sign ?? ""] ?? sign)]
      ),
    ),
  );
}
