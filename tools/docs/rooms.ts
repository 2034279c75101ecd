/**
 * Updates the imports between rooms in `docs/architecture.md`.
 *
 * @module
 */
import {
  arrowsBetween,
  drawArrows,
  HOUSE,
  roomWithin,
  topRoomOf,
} from "./room_arrows.ts";

const root = new URL("../../", import.meta.url);
/** The page that holds the blocks. */
export const PAGE = new URL("docs/architecture.md", root);

/** Returns the page with blocks of arrows for the current imports. */
export async function roomsPage(): Promise<string> {
  const sources = await readSources();
  let page = await Deno.readTextFile(PAGE);
  page = withBlock(
    page,
    "rooms",
    drawArrows(arrowsBetween(sources, topRoomOf)),
  );
  for (const role of ["agent", "server", "computer"]) {
    const arrows = arrowsBetween(sources, roomWithin(role));
    page = withBlock(page, `rooms of ${role}`, drawArrows(arrows));
  }
  return page;
}

/** Replaces the text between `<!-- NAME -->` and `<!-- /NAME -->`. */
function withBlock(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) {
    throw new Error(`Cannot find ${begin} and ${end} in ${PAGE.pathname}`);
  }
  const block = `${begin}\n\n\`\`\`text\n${text}\n\`\`\`\n\n`;
  return page.slice(0, from) + block + page.slice(to);
}

async function readSources(): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  const read = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(new URL(`${folder}/`, root))) {
      const path = `${folder}/${entry.name}`;
      if (path === "server/wire/assembly") continue; // AssemblyScript
      if (entry.isDirectory) await read(path);
      else if (path.endsWith(".ts")) {
        sources.set(path, await Deno.readTextFile(new URL(path, root)));
      }
    }
  };
  for (const folder of HOUSE) await read(folder);
  return sources;
}

if (import.meta.main) await Deno.writeTextFile(PAGE, await roomsPage());
