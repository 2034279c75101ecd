/**
 * Runs `deno doc --lint` over every entrypoint of the package and fails on all findings, with
 * one exception: the API of a role may use types of npm packages, which the lint treats as
 * private.
 *
 * @module
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import {
  announced,
  type Finding,
  isTolerated,
  parseFindings,
} from "./doc_findings.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const entrypoints = Object.values(config.exports);

/** Every line of this repository's sources, as `number:text`. */
async function linesOf(folder: string, lines = new Set<string>()) {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory && !name.startsWith(".") && name !== "node_modules") {
      await linesOf(path, lines);
    } else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(path);
      text.split("\n").forEach((line, i) => lines.add(keyOf(i + 1, line)));
    }
  }
  return lines;
}

const keyOf = (line: number, text: string) => `${line}:${text.trim()}`;

const { code, stderr } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...entrypoints],
  cwd: root,
  env: { NO_COLOR: "1" },
}).output();
const output = new TextDecoder().decode(stderr);
const findings = parseFindings(output);

if (
  findings.length !== announced(output) ||
  (code !== 0) !== (findings.length > 0)
) {
  console.error(output);
  console.error("Cannot read the output of deno doc --lint (above)");
  Deno.exit(1);
}

const ours = findings.length > 0 ? await linesOf(root) : new Set<string>();
const isOurs = ({ referenced }: Finding) =>
  referenced !== undefined && ours.has(keyOf(referenced.line, referenced.text));
const faults = findings.filter((finding) =>
  !isTolerated(finding, relative(root, finding.file), isOurs(finding))
);
if (faults.length > 0) {
  for (const { text } of faults) console.error(`${text}\n`);
  console.error(`The documentation has ${faults.length} faults (above)`);
  Deno.exit(1);
}
console.log(
  `The documentation of ${entrypoints.length} entrypoints is complete (${findings.length} types of npm packages are left to those)`,
);
