import { assert } from "@std/assert";
import { withVersions } from "../../support/computer/reference_servers.ts";
import { exampleCode } from "./blocks.ts";

/** A person's machine, as far as a transcript sees it. */
export interface Home extends AsyncDisposable {
  /** The home directory. */
  readonly home: string;
  /** The folder in which the person works; there is nothing in it. */
  readonly folder: string;
  /** What the commands run with. */
  readonly env: Readonly<Record<string, string>>;
}

/** Where the pages say that the person is at home. */
export const NAMED_HOME = "/home/you";

/**
 * Makes the home of somebody who has Claude Desktop and an empty folder, and whose `deno` finds
 * this very source when it is asked for what JSR will have: a configuration in the folder above
 * links the two, so that commands run as they are written.
 *
 * @param claude configuration of Claude Desktop; paths in `/home/you` become those of the home
 */
export async function makeHome(claude?: string): Promise<Home> {
  const home = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "smcp-home-" }),
  );
  const settings = `${home}/.config/Claude`;
  const folder = `${home}/tools`;
  for (const path of [settings, folder, `${home}/Documents`]) {
    await Deno.mkdir(path, { recursive: true });
  }
  if (claude !== undefined) {
    await Deno.writeTextFile(
      `${settings}/claude_desktop_config.json`,
      claude.replaceAll(NAMED_HOME, home),
    );
  }
  await Deno.writeTextFile(`${home}/Documents/shopping.txt`, "milk\neggs\n");
  await linkPackage(home);
  await Deno.writeTextFile(`${home}/.npmrc`, await npmSettings());
  await shareNpmCache(home);
  const env = {
    ...Object.fromEntries(
      Object.entries(Deno.env.toObject()).filter(([name]) =>
        !/^(SMCP_|XDG_)/.test(name)
      ),
    ),
    DENO_DIR: await cacheOfDeno(),
    HOME: home,
    NO_COLOR: "1",
    PATH: `${dirOf(Deno.execPath())}:${Deno.env.get("PATH") ?? ""}`,
  };
  return {
    home,
    folder,
    env,
    [Symbol.asyncDispose]: () => Deno.remove(home, { recursive: true }),
  };
}

/** Makes a home whose folder has the configuration of the README. */
export async function homeWithConfiguration(): Promise<Home> {
  const home = await makeHome();
  const configuration = await exampleCode("configuration", "README");
  const file = `${home.folder}/computer.json`;
  await Deno.writeTextFile(file, withVersions(configuration));
  return home;
}

/**
 * Writes into a folder the configuration of the pages that finds the package in a clone.
 *
 * @param clone whether the clone is put there as well
 */
export async function linkPackage(
  folder: string,
  { clone = true }: { clone?: boolean } = {},
): Promise<void> {
  const root = new URL("../../../", import.meta.url);
  const links = await exampleCode("links"); // of docs/getting-started.md
  if (clone) await Deno.symlink(root, `${folder}/a2c-smcp`);
  await Deno.writeTextFile(`${folder}/deno.json`, links);
  await Deno.copyFile(new URL("deno.lock", root), `${folder}/deno.lock`);
}

/** The registry, proxy and certificates that npm uses here; MCP servers get no environment of it. */
export async function npmSettings(preferOffline = true): Promise<string> {
  const values = await npmValues();
  return [
    ...["registry", "cafile", "proxy", "https-proxy"].map((name) =>
      values[name] && `${name}=${values[name]}`
    ),
    ...(preferOffline ? ["prefer-offline=true"] : []),
    "update-notifier=false",
    "",
  ].filter((line) => line !== undefined).join("\n");
}

/**
 * What npm has fetched and what npx has unpacked is there, as it is after Claude Desktop's first
 * start: see `tools/fetch.ts`.
 */
export async function shareNpmCache(home: string): Promise<void> {
  const cache = (await npmValues()).cache ?? `${home}/cache`;
  await Deno.mkdir(`${home}/.npm`);
  for (const part of ["_cacache", "_npx"]) {
    await Deno.mkdir(`${cache}/${part}`, { recursive: true });
    await Deno.symlink(`${cache}/${part}`, `${home}/.npm/${part}`);
  }
}

/** This machine's settings of npm, by name: those that are set. */
const npmValues = once(async (): Promise<Record<string, string>> => {
  const names = ["registry", "cafile", "proxy", "https-proxy", "cache"];
  const { stdout } = await new Deno.Command("npm", {
    args: ["config", "get", ...names],
    stdin: "null",
    stderr: "null",
  }).output();
  const pairs = new TextDecoder().decode(stdout).trim().split("\n")
    .map((line) => [
      line.slice(0, line.indexOf("=")),
      line.slice(line.indexOf("=") + 1).trim(),
    ]);
  return Object.fromEntries(
    pairs.filter(([, value = ""]) =>
      !["", "null", "undefined"].includes(value)
    ),
  );
});

/** Returns this machine's cache of Deno: it is not the person's, so that nothing is fetched twice. */
export const cacheOfDeno = once(async (): Promise<string> => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
  }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout));
  assert(typeof denoDir === "string");
  return denoDir;
});

/** Asks a program once for all homes: each start of npm takes half a second of the processor. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => answer ??= ask();
}

const dirOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
