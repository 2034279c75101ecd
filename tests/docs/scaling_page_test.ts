import { assert, assertEquals } from "@std/assert";
import { codeBlocks } from "./support/blocks.ts";

const blocks = await codeBlocks();

Deno.test("docs/scaling.md quotes messages and metrics that exist", async () => {
  const read = (file: string) =>
    Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
  const page = await read("docs/scaling.md");
  const [, list = ""] = page.split("## What each failure looks like");
  const [items = ""] = list.split("## Runbook");
  const quoted = items.split(/^- /m).slice(1).flatMap((item) => {
    const [, log = ""] = /Log:\s([^]*?)\.(?:\s+Metrics:|\n|$)/.exec(item) ?? [];
    return [...log.matchAll(/`([^`]+)`/g)];
  }).map(([, text = ""]) => text.replaceAll(/\s+/g, " "));
  const log = await read("server/cluster/node_log.ts");
  assert(quoted.length > 8);
  assertEquals(quoted.filter((text) => !log.includes(text)), []);

  const metrics = await read("server/observe/prometheus.ts");
  const names = [...page.matchAll(/smcp_cluster_(\w+)/g)]
    .map(([, name = ""]) => name);
  assert(names.length > 10);
  assertEquals(names.filter((name) => !metrics.includes(`"${name}"`)), []);
});

Deno.test("docs/scaling.md lists the rights that the source lists", async () => {
  const source = await Deno.readTextFile(
    new URL("../../server/cluster/redis/connect.ts", import.meta.url),
  );
  const acl = blocks.find(({ example }) => example === "redis-acl")?.code ?? "";
  const listed = acl.trim().split(" ").filter((word) => word.startsWith("+"));
  const [everywhere = "", single = ""] = ["everywhere", "one server"].map(
    (where) =>
      new RegExp(`\\| ${where} \\| \`([^\`]+)`).exec(source)?.[1] ?? "",
  );
  const wanted = `${everywhere} ${single}`.replaceAll("\\|", "|").split(" ");
  assertEquals(listed.sort(), wanted.sort());
});
