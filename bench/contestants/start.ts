import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { kill, pause, spawn } from "../processes.ts";

/** What load is put on: a server, or several that work together. */
export interface Target {
  readonly name: string;
  /** The ports that Agents and Computers connect to. */
  readonly agentPort: number;
  readonly computerPort: number;
  /** Ids of the processes whose CPU counts, by names of small letters. */
  readonly processes: Readonly<Record<string, number>>;
  /** Whether it forwards frames without Socket.IO. */
  readonly raw: boolean;
  /** Returns the end of its output. */
  log(): string;
}

/** A running server. */
export interface Running extends Target, AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** How to start a server, which must print its port. */
export interface Recipe {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Working directory; default the package's root. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly raw?: boolean;
}

/** The package's root. */
export const ROOT: string = fileURLToPath(
  new URL("../../", import.meta.url),
);

/** Returns the path of a file in this folder. */
export const here = (file: string): string =>
  join(ROOT, "bench", "contestants", file);

/** Time limit for a server to listen. */
const START_TIMEOUT_MS = 60_000;

/**
 * Starts a server in a separate process, and waits until it listens.
 *
 * Its output goes to a file, as usual in production: a pipe would have to be read meanwhile.
 *
 * @param folder the folder for that file
 */
export async function start(
  recipe: Recipe,
  folder: string,
): Promise<Running> {
  const output = join(folder, `${recipe.name}.log`);
  await Deno.writeTextFile(output, "");
  const words = [recipe.command, ...recipe.args].map(quote).join(" ");
  const child = spawn("sh", {
    args: ["-c", `exec ${words} > ${quote(output)} 2>&1`],
    cwd: recipe.cwd ?? ROOT,
    env: { NO_COLOR: "1", ...recipe.env },
    stdin: "null",
  });
  let ended = false;
  const over = child.status.then(() => ended = true);
  const log = () => Deno.readTextFileSync(output).slice(-2000);
  const end = async () => {
    if (!ended) kill(child.pid);
    await over;
  };
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline;) {
    const port = portIn(await Deno.readTextFile(output));
    if (port !== undefined) {
      return {
        name: recipe.name,
        pid: child.pid,
        port,
        agentPort: port,
        computerPort: port,
        processes: { server: child.pid },
        raw: recipe.raw ?? false,
        log,
        [Symbol.asyncDispose]: end,
      };
    }
    if (ended) break;
    await pause(5);
  }
  const why = log();
  await end();
  throw new Error(`Cannot start ${recipe.name}: ${why}`);
}

/**
 * Returns the port in a line such as "Server listening on http://127.0.0.1:8787 (paths …)", "listening on
 * 8787" or the `{"event":"listen","socket":"http","port":8787}` of workerd; `undefined` while the line is
 * incomplete.
 */
export function portIn(output: string): number | undefined {
  const [, port] =
    /(?:listening on (?:\S*:)?|"listen".*"port":)(\d+)\b.*\n/.exec(output) ??
      [];
  return port === undefined ? undefined : Number(port);
}

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
