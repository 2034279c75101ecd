/**
 * Generates documents from the validators: the JSON Schema of the configuration file, and its
 * reference in docs/configuration.md.
 *
 * @module
 */
import { configReference } from "./config_reference.ts";
import { configKinds, configSchema } from "./config_schema.ts";

const docs = new URL("../../docs/", import.meta.url);
const BEGIN = "<!-- generated: reference -->";
const END = "<!-- generated: end -->";

/** The generated files: their URLs and contents. */
export async function configDocs(): Promise<Map<URL, string>> {
  const page = new URL("configuration.md", docs);
  const text = await Deno.readTextFile(page);
  const before = text.indexOf(BEGIN);
  const after = text.indexOf(END);
  if (before < 0 || after < before) {
    throw new Error(`Cannot find ${BEGIN} and ${END} in ${page.pathname}`);
  }
  const reference = configReference(await configKinds());
  return new Map([
    [
      new URL("config.schema.json", docs),
      await formatted(JSON.stringify(await configSchema()), "json"),
    ],
    [
      page,
      await formatted(
        `${text.slice(0, before)}${BEGIN}\n\n${reference}\n\n${
          text.slice(after)
        }`,
        "md",
      ),
    ],
  ]);
}

/** Formats a text with `deno fmt`. */
async function formatted(text: string, ext: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--no-config", "--ext", ext, "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  await ReadableStream.from([text]).pipeThrough(new TextEncoderStream())
    .pipeTo(child.stdin);
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`Cannot format the ${ext}`);
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  for (const [file, text] of await configDocs()) {
    await Deno.writeTextFile(file, text);
  }
}
