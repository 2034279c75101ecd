import { assert, assertEquals } from "@std/assert";
import { parseAllDocuments } from "yaml";
import { codeBlocks } from "./support/blocks.ts";

const blocks = await codeBlocks();

/** Reads the documents of an example of docs/scaling.md. */
function read(name: string): Record<string, unknown>[] {
  const block = blocks.find(({ example }) => example === name);
  assert(block, `There is no example ${name}`);
  return parseAllDocuments(block.code).map((document) => {
    assertEquals(document.errors, []);
    return document.toJS();
  });
}

/** Returns what is at a path; list items by their number. */
const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
    value,
  );

Deno.test("the manifests of docs/scaling.md are sticky by address, and probe what the Server serves", () => {
  const [deployment, service] = read("kubernetes-address");
  const container = at(deployment, "spec.template.spec.containers.0");
  assertEquals(at(service, "spec.sessionAffinity"), "ClientIP");
  assertEquals(at(container, "readinessProbe.httpGet.path"), "/ready");
  assertEquals(at(container, "livenessProbe.httpGet.path"), "/health");
  const port = at(container, "ports.0.containerPort");
  assertEquals(at(service, "spec.ports.0.targetPort"), port);
  assertEquals(
    at(service, "spec.selector"),
    at(deployment, "spec.selector.matchLabels"),
  );
  const names = (at(container, "env") as { name: string }[])
    .map(({ name }) => name);
  assertEquals(names, ["SMCP_CLUSTER", "SMCP_API_KEYS"]);

  const [ingress] = read("kubernetes-ingress");
  const annotations = at(ingress, "metadata.annotations") as object;
  assertEquals(
    Object.entries(annotations).find(([name]) => name.endsWith("hash-by"))?.[1],
    "$remote_addr",
  );
});

Deno.test("docs/scaling.md quotes messages and metrics that exist", async () => {
  const read = (file: string) =>
    Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
  const page = await read("docs/scaling.md");
  const [, table = ""] = page.split("## What each failure looks like");
  const [rows = ""] = table.split("## Runbook");
  const quoted = rows.split("\n").filter((line) => line.startsWith("| "))
    .slice(2)
    .flatMap((line) => [...(line.split("|")[3] ?? "").matchAll(/`([^`]+)`/g)])
    .map(([, text = ""]) => text);
  const log = await read("server/cluster/node/node_log.ts");
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
