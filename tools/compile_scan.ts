import asc from "assemblyscript/asc";

const folder = new URL("../server/wire/", import.meta.url);
const sources = new URL("assembly/", folder);

/** The generated module in the repository. */
export const SCAN_MODULE: URL = new URL("scan_json_wasm.ts", folder);

/**
 * Compiles the scanner; the same source always produces the same bytes.
 *
 * @returns the source of a module that contains them
 * @throws {Error} with the compiler's messages
 */
export async function compileScan(): Promise<string> {
  const source = "scan_json.ts";
  const written: (string | Uint8Array)[] = [];
  const { error, stderr } = await asc.main([
    source,
    ...["--outFile", "out.wasm", "--optimizeLevel", "3", "--runtime", "stub"],
    ...["--enable", "simd", "--noAssert", "--initialMemory", "2"],
  ], {
    readFile: (name) => read(new URL(name, sources)),
    writeFile: (_name, contents) => {
      written.push(contents);
    },
    listFiles: () => [],
  });
  const [wasm] = written;
  if (error || !(wasm instanceof Uint8Array)) {
    throw new Error(`Cannot compile ${source}: ${stderr}`);
  }
  return `// Generated from assembly/ by \`deno task build:scan\`; do not edit.

/** WebAssembly, in Base64. */
export const SCAN_JSON_WASM: string =
  "${wasm.toBase64()}";
`;
}

/** Returns the text of a file, or null: the compiler also probes for files that do not exist. */
async function read(file: URL): Promise<string | null> {
  return await Deno.readTextFile(file).catch(() => null);
}
