/**
 * Measures the documentation as JSR's score does: every entrypoint has module documentation with
 * an example, nearly every exported symbol is documented. Then builds the documentation as HTML.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";

/** Required share of documented symbols and members. */
const MIN_DOCUMENTED = 0.95;

const root = fileURLToPath(new URL("../../", import.meta.url));
const entrypoints = Object.values(config.exports);

/** A symbol that may have a doc comment. */
interface Documented {
  name: string;
  jsDoc?: { doc?: string };
}

/** The used part of the output of `deno doc --json`. */
interface DocOutput {
  nodes: Record<string, {
    module_doc?: { doc?: string };
    symbols: {
      name: string;
      declarations: {
        kind: string;
        jsDoc?: { doc?: string };
        def?: {
          properties?: Documented[];
          methods?: (Documented & { accessibility?: string })[];
        };
      }[];
    }[];
  }>;
}

const { nodes }: DocOutput = JSON.parse(
  await run("deno", ["doc", "--json", ...entrypoints], root),
);

const faults: string[] = [];
let all = 0;
const bare: string[] = [];
const count = (name: string, doc: string | undefined) => {
  all++;
  if (!doc) bare.push(name);
};
for (const [file, { module_doc, symbols }] of Object.entries(nodes)) {
  if (!/^```(ts|sh)$/m.test(module_doc?.doc ?? "")) {
    faults.push(`${file} has no module documentation with an example`);
  }
  for (const { name, declarations } of symbols) {
    // A symbol of several entrypoints is counted once.
    if (declarations.every(({ kind }) => kind === "reference")) continue;
    count(name, declarations.find(({ jsDoc }) => jsDoc?.doc)?.jsDoc?.doc);
    for (const { def } of declarations) {
      for (const member of [...def?.properties ?? [], ...def?.methods ?? []]) {
        count(`${name}.${member.name}`, member.jsDoc?.doc);
      }
    }
  }
}
const share = 1 - bare.length / all;
if (share < MIN_DOCUMENTED) faults.push(`Not documented: ${bare.join(", ")}`);

const folder = await Deno.makeTempDir({ prefix: "doc-html-" });
try {
  await run("deno", [
    "doc",
    "--html",
    `--name=${config.name}`,
    `--output=${folder}`,
    ...entrypoints,
  ], root);
  await Deno.stat(`${folder}/index.html`);
} finally {
  await Deno.remove(folder, { recursive: true });
}

for (const fault of faults) console.error(fault);
if (faults.length > 0) Deno.exit(1);
console.log(
  `${
    (100 * share).toFixed(1)
  } % of ${all} symbols and members are documented; the HTML builds`,
);
