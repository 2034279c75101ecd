import { fileURLToPath } from "node:url";
import { join } from "node:path";

/** A server that waits for load. */
export interface Running extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** It forwards frames and knows no Socket.IO. */
  readonly raw: boolean;
  /** It encodes bodies anew in its own way, so that they can not be compared byte by byte. */
  readonly reencodes: boolean;
  /** The last of what it wrote to stderr. */
  log(): string;
}

/** How to start a server. */
export interface Recipe {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly raw?: boolean;
  readonly reencodes?: boolean;
  /** Its port, in the line on stdout that says that it listens. */
  readonly listening?: RegExp;
}

/** The package's root. */
export const ROOT: string = fileURLToPath(
  new URL("../../../", import.meta.url),
);

const children = new Set<Deno.ChildProcess>();

/** Ends every server at once; for the end of this process. */
export function killAll(): void {
  for (const child of children) {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended
    }
  }
}

/** Starts a server as a process of its own, and waits until it listens. */
export async function start(recipe: Recipe): Promise<Running> {
  // What it logs goes to a file, as at an operator's; a pipe would have to be read while measuring.
  const logFile = await Deno.makeTempFile({ prefix: "smcp-bench-" });
  const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
  const words = [recipe.command, ...recipe.args].map(quote).join(" ");
  const child = new Deno.Command("sh", {
    args: ["-c", `exec ${words} 2> ${quote(logFile)}`],
    cwd: recipe.cwd ?? ROOT,
    env: { NO_COLOR: "1", ...recipe.env },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  children.add(child);
  const log = () => Deno.readTextFileSync(logFile).slice(-2000);
  const end = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended
    }
    await child.status;
    children.delete(child);
    await Deno.remove(logFile);
  };
  const pattern = recipe.listening ?? /listening on .*?(\d+)\b(?!\.)/;
  let out = "";
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  while (true) {
    const { value, done } = await reader.read();
    out += value ?? "";
    const port = Number(pattern.exec(out)?.[1] ?? 0);
    if (port > 0 && out.includes("\n")) {
      drain(reader);
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
    if (done) {
      const why = log();
      await end();
      throw new Error(`Cannot start ${recipe.name}: ${out}${why}`);
    }
  }
}

async function drain(reader: ReadableStreamDefaultReader<string>) {
  while (!(await reader.read()).done);
}

/** A file of this folder. */
export const here = (file: string): string =>
  join(ROOT, "tests", "bench", "contestants", file);
