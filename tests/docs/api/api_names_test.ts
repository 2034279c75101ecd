import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import { run } from "../../../tools/process.ts";

/** Fields of the wire, of the log, of the configuration file, of DPE resolvers (spec §8.3) and of Hono, and classes. */
const KEPT = [
  "api_key",
  "req_id",
  "ended_by",
  "server_parameters",
  "mime_type",
  "mcp_server_name",
  "Bindings",
  "Front",
  "Office",
];

const TIME =
  /(timeout|interval|delay|duration|grace|lag|seconds|lifetime|(expires|retry)In)$/i;

Deno.test("options and events of the API are in camelCase, and times end in Ms", async () => {
  const entries = Object.entries(config.exports)
    .filter(([entry, file]) =>
      file.endsWith("/mod.ts") && entry !== "./protocol"
    );
  const found = await Promise.all(
    entries.map(([, file]) => propertiesOf(file)),
  );
  const names = new Set(found.flat());
  const has = (name: string) => names.has(name);
  assertEquals(["timeoutMs", "enterOffice", "serverState"].map(has), [
    true,
    true,
    true,
  ]);
  const odd = [...names].filter((name) =>
    !/^[a-z][A-Za-z0-9]*$/.test(name) && !KEPT.includes(name) || TIME.test(name)
  );
  assertEquals(odd, []);
});

/** The names of all properties that an entrypoint documents, those of the wire's types left out. */
async function propertiesOf(file: string): Promise<string[]> {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const output: {
    nodes: Record<string, {
      symbols: {
        declarations: { location: { filename: string }; def?: unknown }[];
      }[];
    }>;
  } = JSON.parse(await run("deno", ["doc", "--json", file], root));
  return Object.values(output.nodes)
    .flatMap(({ symbols }) => symbols.flatMap((each) => each.declarations))
    .filter(({ location }) => !location.filename.includes("/protocol/"))
    .flatMap(({ def }) => namesIn(def));
}

function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...key === "properties" && Array.isArray(inner)
      ? inner.map(({ name }) => String(name))
      : [],
    ...namesIn(inner),
  ]);
}
