import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { kill, spawn } from "../leftovers.ts";

/** A server that waits for load. */
export interface Running extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** It forwards frames and knows no Socket.IO. */
  readonly raw: boolean;
  /** It encodes bodies anew in its own way, so that they can not be compared byte by byte. */
  readonly reencodes: boolean;
  /** The last of what it wrote. */
  log(): string;
}

/** How to start a server; it says on which port it listens. */
export interface Recipe {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Default the package's root. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly raw?: boolean;
  readonly reencodes?: boolean;
}

/** The package's root. */
export const ROOT: string = fileURLToPath(
  new URL("../../", import.meta.url),
);

/** A file of this folder. */
export const here = (file: string): string =>
  join(ROOT, "bench", "contestants", file);

/** Milliseconds that a server may take to listen. */
const PATIENCE = 60_000;

/**
 * Starts a server as a process of its own, and waits until it listens.
 *
 * What it writes goes to a file, as at an operator's: a pipe would have to be read meanwhile.
 *
 * @param folder for that file
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
    kill(child);
    await over;
  };
  for (const deadline = Date.now() + PATIENCE; Date.now() < deadline;) {
    const port = portIn(await Deno.readTextFile(output));
    if (port !== undefined) {
      return {
        name: recipe.name,
        pid: child.pid,
        port,
        raw: recipe.raw ?? false,
        reencodes: recipe.reencodes ?? false,
        log,
        [Symbol.asyncDispose]: end,
      };
    }
    if (ended) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const why = log();
  await end();
  throw new Error(`Cannot start ${recipe.name}: ${why}`);
}

/**
 * The port in a line such as "Server listening on http://127.0.0.1:8787 (paths …)" or "listening on
 * 8787"; `undefined` before the line is whole.
 */
export function portIn(output: string): number | undefined {
  const [, port] = /listening on (?:\S*:)?(\d+)\b.*\n/.exec(output) ?? [];
  return port === undefined ? undefined : Number(port);
}

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
