import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { type CommandEnd, type CommandName, runFile } from "../command.ts";
import { scratch } from "../scratch.ts";
import { JOURNALCTL, LAUNCHCTL, PS, SYSTEMCTL } from "./fake_programs.ts";

/** A user with a home directory, and stand-ins for what manages services. */
export interface ServiceHome extends AsyncDisposable {
  /** The home directory. */
  readonly path: string;
  /** The working directory of commands, which has a configuration `c.json`. */
  readonly folder: string;
  /** Runs a command for this user. */
  run(
    name: CommandName,
    args: readonly string[],
    env?: Record<string, string>,
  ): Promise<CommandEnd>;
  /** Reads a file of the home directory. */
  read(path: string): Promise<string>;
  /** Writes a file into the home directory. */
  write(path: string, text: string): Promise<void>;
  /** Returns the paths of all files of the user. */
  files(): Promise<string[]>;
  /** Returns the calls of the stand-ins since the last call of this. */
  calls(): Promise<string[]>;
}

/** Options of {@linkcode serviceHome}. */
export interface HomeOptions {
  /** The system; default: Linux. */
  readonly platform?: "linux" | "darwin" | "win32";
  /** The stand-ins; default: those of the system. */
  readonly programs?: Readonly<Record<string, string>>;
}

const PROGRAMS = {
  linux: { systemctl: SYSTEMCTL, journalctl: JOURNALCTL },
  darwin: { launchctl: LAUNCHCTL, ps: PS },
  win32: {},
};

/** Creates the home of a user; `state` in it is what the stand-ins know. */
export async function serviceHome(
  { platform = "linux", programs = PROGRAMS[platform] }: HomeOptions = {},
): Promise<ServiceHome> {
  const home = await scratch();
  const { path } = home;
  const [bin, folder, state] = ["bin", "folder of tools", "state"]
    .map((name) => join(path, name));
  for (const part of [bin, folder, state]) await mkdir(part ?? "");
  for (const [name, script] of Object.entries(programs)) {
    const file = join(bin ?? "", name);
    await writeFile(file, script);
    await chmod(file, 0o755);
  }
  await writeFile(join(folder ?? "", "c.json"), '{"servers": {}}');
  const log = join(state ?? "", "calls");
  return {
    path,
    folder: folder ?? "",
    run: (name, args, env = {}) =>
      runFile(`${name}/main.ts`, args, {
        env: {
          DENO_DIR: denoDir(),
          HOME: path,
          XDG_CONFIG_HOME: "",
          USER: "ada",
          // Programs of the system would be the real ones.
          PATH: bin ?? "",
          TEST_PLATFORM: platform,
          ...env,
        },
        ...(folder !== undefined && { cwd: folder }),
        preload: "tests/support/service/as_user.ts",
      }),
    read: (file) => readFile(join(path, file), "utf8"),
    async write(file, text) {
      await mkdir(join(path, file, ".."), { recursive: true });
      await writeFile(join(path, file), text);
    },
    async files() {
      const entries = await readdir(path, {
        recursive: true,
        withFileTypes: true,
      });
      return entries.filter((entry) => entry.isFile())
        .map((entry) => relative(path, join(entry.parentPath, entry.name)))
        .filter((file) => !/^(bin|state|folder of tools)\//.test(file))
        .toSorted();
    },
    async calls() {
      const text = await readFile(log, "utf8").catch(() => "");
      await writeFile(log, "");
      return text.split("\n").filter((line) => line !== "");
    },
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

/** Keeps Deno's cache when HOME differs. */
const denoDir = (): string =>
  Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
