import { assertEquals } from "@std/assert";
import { HOUSE } from "../../../tools/docs/room_arrows.ts";

const root = new URL("../../../", import.meta.url);

/** A landing that is longer is read no more; a folder of one file says nothing that its name does not. */
const MAX_FILES = 20;

Deno.test("no folder has more than 20 files, and none has one file alone", async () => {
  const wrong: string[] = [];
  const look = async (folder: string): Promise<void> => {
    let [files, folders] = [0, 0];
    for await (const { name, isDirectory } of Deno.readDir(at(folder))) {
      if (name.startsWith(".") || name === "node_modules") continue; // fetched
      if (isDirectory) {
        folders++;
        await look(`${folder}/${name}`);
      } else files++;
    }
    if (files > MAX_FILES) wrong.push(`${folder}: ${files} files`);
    if (files === 1 && folders === 0) wrong.push(`${folder}: one file`);
  };
  for (
    const folder of [...HOUSE, "bench", "docs", "examples", "tests", "tools"]
  ) {
    await look(folder);
  }
  assertEquals(wrong, []);
});

const at = (folder: string) => new URL(`${folder}/`, root);
