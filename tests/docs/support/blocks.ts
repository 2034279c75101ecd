/** A code block of a Markdown page. */
export interface Block {
  /** Where it begins, as `file:line`. */
  readonly at: string;
  /** Its language. */
  readonly language: string;
  /** Whether its imports are not of this package, so that `deno check` leaves it out. */
  readonly isForeign: boolean;
  /** What the comment in front of it says that it is: `<!-- example: NAME -->`. */
  readonly example: string | undefined;
  /** The code. */
  readonly code: string;
}

const root = new URL("../../../", import.meta.url);

/** The README, CONTRIBUTING and the pages of `docs/`: the text of each, by its path. */
export async function readPages(): Promise<Map<string, string>> {
  const pages = ["README.md", "CONTRIBUTING.md"];
  for await (const { name } of Deno.readDir(new URL("docs/", root))) {
    if (name.endsWith(".md")) pages.push(`docs/${name}`);
  }
  const texts = pages.map(async (page) =>
    [page, await Deno.readTextFile(new URL(page, root))] as const
  );
  return new Map(await Promise.all(texts));
}

/** Every code block of these pages. */
export async function codeBlocks(): Promise<Block[]> {
  return [...await readPages()].flatMap(([page, text]) => blocksOf(page, text));
}

/** Every code block of the other Markdown files of the repository, but for what changed. */
export async function otherBlocks(): Promise<Block[]> {
  const pages = await readPages();
  const blocks: Block[] = [];
  for await (const path of markdownIn("")) {
    if (pages.has(path) || path === "CHANGELOG.md") continue;
    blocks.push(
      ...blocksOf(path, await Deno.readTextFile(new URL(path, root))),
    );
  }
  return blocks;
}

/** Finds the Markdown files of a folder, without those of others. */
async function* markdownIn(folder: string): AsyncGenerator<string> {
  for await (
    const { name, isFile, isDirectory } of Deno.readDir(
      new URL(folder, root),
    )
  ) {
    if (/^\.|^(node_modules|dist|coverage)$/.test(name)) continue;
    if (isFile && name.endsWith(".md")) yield `${folder}${name}`;
    if (isDirectory) yield* markdownIn(`${folder}${name}/`);
  }
}

/** The code of an example, by what the comment in front of it calls it. */
export async function exampleCode(name: string, page = ""): Promise<string> {
  const found = (await codeBlocks()).find(({ at, example }) =>
    example === name && at.startsWith(page)
  );
  if (found === undefined) throw new Error(`No page has an example ${name}`);
  return found.code;
}

function blocksOf(page: string, text: string): Block[] {
  const block =
    /(?:<!-- example: (?<example>[\w-]+) -->\s+)?^```(?<language>\w+)(?<foreign> ignore)?\n(?<code>[^]*?)^```$/gm;
  return [...text.matchAll(block)].map(({ index, groups }) => ({
    at: `${page}:${text.slice(0, index).split("\n").length}`,
    language: groups?.language ?? "",
    isForeign: groups?.foreign !== undefined,
    example: groups?.example,
    code: groups?.code ?? "",
  }));
}
