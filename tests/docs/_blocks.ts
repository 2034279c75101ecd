/** A code block of a Markdown page. */
export interface Block {
  /** Where it begins, as `file:line`. */
  readonly at: string;
  /** Its language. */
  readonly language: string;
  /** What the comment in front of it says that it is: `<!-- example: NAME -->`. */
  readonly example: string | undefined;
  /** The code. */
  readonly code: string;
}

const root = new URL("../../", import.meta.url);

/** Every code block of the README and of `docs/`. */
export async function codeBlocks(): Promise<Block[]> {
  const pages = ["README.md"];
  for await (const { name } of Deno.readDir(new URL("docs/", root))) {
    if (name.endsWith(".md")) pages.push(`docs/${name}`);
  }
  const texts = pages.map(async (page) =>
    blocksOf(page, await Deno.readTextFile(new URL(page, root)))
  );
  return (await Promise.all(texts)).flat();
}

function blocksOf(page: string, text: string): Block[] {
  const block =
    /(?:<!-- example: (?<example>[\w-]+) -->\s+)?^```(?<language>\w+)\n(?<code>[^]*?)^```$/gm;
  return [...text.matchAll(block)].map(({ index, groups }) => ({
    at: `${page}:${text.slice(0, index).split("\n").length}`,
    language: groups?.language ?? "",
    example: groups?.example,
    code: groups?.code ?? "",
  }));
}
