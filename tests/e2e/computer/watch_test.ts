import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { watchConfig } from "../../../computer/config/load_config.ts";
import { scratch } from "../../support/scratch.ts";
import { holdTimers } from "../../support/timers.ts";

Deno.test({
  name: "watchConfig() reads a change in a directory with constant changes",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "computer.json");
  const write = (name: string) => {
    const server = { type: "stdio", server_parameters: { command: "x" } };
    return Deno.writeTextFile(
      file,
      JSON.stringify({ servers: { [name]: server } }),
    );
  };
  await write("first");
  using _neverQuiet = holdTimers(100);
  const heard: string[] = [];
  let news = Promise.withResolvers<void>();
  using _watching = await watchConfig(file, {
    changed: ({ servers }) => {
      heard.push(...servers.map(({ name }) => name));
      news.resolve();
    },
    refused: () => {}, // the file was read during a write
  });
  await news.promise;
  news = Promise.withResolvers();
  await write("second");
  await news.promise;
  assertEquals(heard, ["first", "second"]);
});
