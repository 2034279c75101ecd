import { missingPrograms } from "../cluster/install.ts";

const PROGRAM = "import json, plistlib, sys\n" +
  "json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)";

/** Says why tests with a parser of property lists are skipped; "" where it is there. */
export const WITHOUT_PLISTLIB =
  (await missingPrograms(["python3"])).length === 0
    ? ""
    : " (skipped: python3 with plistlib is not installed)";

/** Reads a property list with Python's parser. */
export async function readPlist(
  text: string,
): Promise<Record<string, unknown>> {
  const child = new Deno.Command("python3", {
    args: ["-c", PROGRAM],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout));
}
