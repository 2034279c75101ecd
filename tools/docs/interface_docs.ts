import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Doc comments of fields: by interface, then by field. */
export type InterfaceDocs = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The used part of the output of `deno doc --json`. */
interface DocOutput {
  nodes: Record<string, {
    symbols: {
      name: string;
      declarations: {
        kind: string;
        def?: {
          properties?: { name: string; jsDoc?: { doc?: string } }[];
        };
      }[];
    }[];
  }>;
}

/** Reads the doc comments of the interfaces of some files. */
export async function interfaceDocs(
  files: readonly string[],
): Promise<InterfaceDocs> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...files],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { nodes }: DocOutput = JSON.parse(new TextDecoder().decode(stdout));
  return new Map(
    Object.values(nodes).flatMap(({ symbols }) =>
      symbols.flatMap(({ name, declarations }) =>
        declarations.filter(({ kind }) => kind === "interface").map((
          { def },
        ): [string, Map<string, string>] => [
          name,
          new Map(
            def?.properties?.map(({ name, jsDoc }) => [
              name,
              forUsers(jsDoc?.doc ?? ""),
            ]),
          ),
        ])
      )
    ),
  );
}

/** Removes the parts that are only for readers of the source. */
const forUsers = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll(/ \(protocol [^)]*\)/g, "").trim();
