import { assert } from "@std/assert";

/** A command of a transcript, and what it wrote. */
export interface Step {
  /** As it was typed. */
  readonly command: string;
  /** Its output, line by line. */
  readonly output: readonly string[];
}

/** The blocks of a page that show a terminal: what follows `$ `, and what came of it. */
export function transcriptOf(page: string): Step[] {
  const blocks = page.matchAll(/^```console\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, text = ""]) =>
    text.split(/^\$ /m).slice(1).map((step) => {
      const [command = "", ...output] = step.trimEnd().split("\n");
      return { command, output };
    })
  );
}

/** A person's machine, as far as a transcript sees it. */
export interface Home extends AsyncDisposable {
  /** The home directory. */
  readonly home: string;
  /** The folder in which the person works; there is nothing in it. */
  readonly folder: string;
  /** What the commands run with. */
  readonly env: Readonly<Record<string, string>>;
}

/** Where the person of the transcript is at home. */
const HOME = "/home/you";

/**
 * Makes the home of somebody who has Claude Desktop and an empty folder, and whose `deno` finds
 * this very source when it is asked for what JSR will have: a configuration in the folder above
 * links the two, so that the commands run as they are written.
 *
 * @param configuration of Claude Desktop; paths in `/home/you` become those of the home
 */
export async function makeHome(configuration: string): Promise<Home> {
  const home = await Deno.realPath(
    await Deno.makeTempDir({ prefix: "smcp-home-" }),
  );
  const root = new URL("../../", import.meta.url);
  const claude = `${home}/.config/Claude`;
  const folder = `${home}/tools`;
  for (const path of [claude, folder, `${home}/Documents`]) {
    await Deno.mkdir(path, { recursive: true });
  }
  await Deno.writeTextFile(
    `${claude}/claude_desktop_config.json`,
    configuration.replaceAll(HOME, home),
  );
  await Deno.writeTextFile(`${home}/Documents/shopping.txt`, "milk\neggs\n");
  await Deno.writeTextFile(
    `${home}/deno.json`,
    JSON.stringify({
      links: ["", "links/std-semver", "links/std-assert"].map((path) =>
        new URL(path, root).href
      ),
    }),
  );
  await Deno.copyFile(new URL("deno.lock", root), `${home}/deno.lock`);
  await Deno.writeTextFile(`${home}/.npmrc`, await npmSettings());
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

/** What a transcript says of a machine: its paths and ports, and how long things took. */
export function normalize(text: string, { home }: Home): string {
  const root = new URL("../../", import.meta.url).pathname;
  return text.replaceAll(home, HOME)
    .replaceAll(`${root}agent/main.ts`, "jsr:@a2c-smcp/sdk@0.2.0/agent/main")
    .replaceAll(
      `${root}computer/main.ts`,
      "jsr:@a2c-smcp/sdk@0.2.0/computer/main",
    )
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8787")
    .replaceAll(/\d+ ms$/gm, "9 ms").trimEnd();
}

/** The registry, proxy and certificates that npm uses here; MCP servers get no environment of it. */
async function npmSettings(): Promise<string> {
  const names = ["registry", "cafile", "proxy", "https-proxy"];
  const lines = await Promise.all(names.map(async (name) => {
    const { stdout } = await new Deno.Command("npm", {
      args: ["config", "get", name],
      stdin: "null",
      stderr: "null",
    }).output();
    const value = new TextDecoder().decode(stdout).trim();
    return ["", "null", "undefined"].includes(value) ? "" : `${name}=${value}`;
  }));
  return [...lines, "update-notifier=false", "fund=false", "audit=false", ""]
    .join("\n");
}

/** The cache is not the person's, so that nothing is fetched twice. */
async function cacheOfDeno(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-config"],
  }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout));
  assert(typeof denoDir === "string");
  return denoDir;
}

const dirOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
