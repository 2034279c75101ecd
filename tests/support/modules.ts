import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);

/** The used part of the output of `deno info --json` about a module. */
interface ModuleInfo {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier?: string };
    readonly isDynamic?: boolean;
  }[];
}

/**
 * The modules that a file of the repository loads, itself included: paths from the root, and packages
 * as `npm:NAME@VERSION`.
 *
 * @param dynamic whether to include dynamic imports
 */
export async function modulesOf(
  file: string,
  { dynamic }: { readonly dynamic: boolean },
): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", file],
    cwd: fileURLToPath(root),
  }).output();
  const { modules }: { modules: readonly ModuleInfo[] } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const known = new Map(modules.map((info) => [info.specifier, info]));
  const seen = new Set<string>();
  const visit = (specifier: string) => {
    if (seen.has(specifier)) return;
    seen.add(specifier);
    for (
      const { code, isDynamic } of known.get(specifier)?.dependencies ?? []
    ) {
      if (code?.specifier === undefined || isDynamic && !dynamic) continue;
      visit(code.specifier);
    }
  };
  visit(new URL(file, root).href);
  return [...seen].map((specifier) => specifier.replace(root.href, ""));
}
