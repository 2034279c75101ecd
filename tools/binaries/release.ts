/**
 * Writes the archives of a release into `dist/release/`: a binary of each command for each platform,
 * with the license and its completions, and `SHA256SUMS` over all archives of that folder.
 *
 * ```sh
 * deno task release
 * deno task release smcp-agent --target x86_64-pc-windows-msvc
 * ```
 *
 * @module
 */
import { zipSync } from "fflate";
import { packTar } from "modern-tar";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";
import {
  type Bundle,
  bundle,
  type Command,
  compile,
  readArgs,
  TARGETS,
} from "./binaries.ts";

/** A file of an archive. */
interface Entry {
  readonly name: string;
  readonly data: Uint8Array;
  readonly executable?: true;
}

const { commands, targets, folder } = readArgs(Deno.args, "dist/release");
const license = new URL("../../LICENSE", import.meta.url);
await Deno.mkdir(folder, { recursive: true });
const scratch = await Deno.makeTempDir({ prefix: "smcp-release-" });
try {
  for (const command of commands) {
    const bundled = await bundle(command, join(scratch, command));
    const texts: readonly Entry[] = [
      { name: "LICENSE", data: await Deno.readFile(license) },
      ...await completions(command, bundled),
    ];
    for (const target of targets.length === 0 ? TARGETS : targets) {
      const binary = join(scratch, target, command);
      await compile(command, bundled, binary, target);
      const end = target.includes("windows") ? ".exe" : "";
      const data = await Deno.readFile(`${binary}${end}`);
      await Deno.remove(`${binary}${end}`);
      const name = `${command}-${config.version}-${target}`;
      const entries = [
        { name: `${command}${end}`, data, executable: true } as const,
        ...texts,
      ].map((entry) => ({ ...entry, name: `${name}/${entry.name}` }));
      const [archive, bytes] = end === ""
        ? [`${name}.tar.gz`, await tarGz(entries)]
        : [`${name}.zip`, zip(entries)];
      await Deno.writeFile(join(folder, archive), bytes);
      console.log(`${archive}: ${(bytes.length / 1e6).toFixed(1)} MB`);
    }
  }
} finally {
  await Deno.remove(scratch, { recursive: true });
}
await Deno.writeTextFile(join(folder, "SHA256SUMS"), await sums(folder));

/** Returns the completions of a command, under the names by which shells find them. */
async function completions(
  command: Command,
  { main }: Bundle,
): Promise<Entry[]> {
  const names = {
    bash: `${command}.bash`,
    zsh: `_${command}`,
    fish: `${command}.fish`,
  };
  const entries = Object.entries(names).map(async ([shell, name]) => {
    const args = ["run", "-A", "--no-config", main, "completion", shell];
    const text = await run("deno", args, scratch);
    return {
      name: `completions/${name}`,
      data: new TextEncoder().encode(text),
    };
  });
  return await Promise.all(entries);
}

async function tarGz(entries: readonly Entry[]): Promise<Uint8Array> {
  const tar = await packTar(entries.map(({ name, data, executable }) => ({
    header: {
      name,
      size: data.length,
      type: "file",
      mode: executable ? 0o755 : 0o644,
    },
    body: data,
  })));
  return gzipSync(tar, { level: 9 });
}

function zip(entries: readonly Entry[]): Uint8Array {
  return zipSync(
    Object.fromEntries(entries.map(({ name, data }) => [name, data])),
  );
}

/** Returns the checksums of all archives of a folder, as `sha256sum --check` reads them. */
async function sums(folder: string): Promise<string> {
  const names = (await Array.fromAsync(Deno.readDir(folder)))
    .map(({ name }) => name)
    .filter((name) => /\.(tar\.gz|zip)$/.test(name))
    .sort();
  const lines = names.map(async (name) => {
    const bytes = await Deno.readFile(join(folder, name));
    const sum = createHash("sha256").update(bytes).digest("hex");
    return `${sum}  ${name}\n`;
  });
  return (await Promise.all(lines)).join("");
}
