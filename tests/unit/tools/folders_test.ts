import { assertEquals } from "@std/assert";
import { HOUSE } from "../../../tools/lint/layering_rules.ts";

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

/** A longer file is no chapter: a reader cannot hold it. */
const MAX_LINES = 500;

Deno.test("no source file has more than 500 lines", async () => {
  const long: string[] = [];
  const look = async (folder: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(at(folder))) {
      const path = `${folder}/${name}`;
      if (name.startsWith(".") || name === "node_modules") continue; // fetched
      if (isDirectory) await look(path);
      else if (/\.(ts|js|css|py)$/.test(name)) {
        const text = await Deno.readTextFile(new URL(path, root));
        const lines = text.split("\n").length - 1;
        if (lines > MAX_LINES) long.push(`${path}: ${lines} lines`);
      }
    }
  };
  for (const folder of [...HOUSE, "bench", "examples", "tools"]) {
    await look(folder);
  }
  assertEquals(long, []);
});

const at = (folder: string) => new URL(`${folder}/`, root);
