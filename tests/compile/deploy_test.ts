import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { serverOptions } from "../../server/cli/flags.ts";
import { start } from "../support/child.ts";
import { scratch } from "../support/scratch.ts";
import { check } from "./checkers.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const FILES = [
  "deploy/server.yaml",
  "deploy/ingress.yaml",
  "deploy/redis.yaml",
];

/** The oldest Kubernetes for which the manifests are, and the newest that the checker has. */
const VERSIONS = ["1.30", "1.37"];

/** All manifests, by kind and name, such as `Service/smcp-server`. */
const manifests = new Map<string, unknown>();
for (const file of FILES) {
  const text = await Deno.readTextFile(join(root, file));
  for (const document of parseAllDocuments(text, { version: "1.1" })) {
    assertEquals(document.errors, []);
    const manifest: unknown = document.toJS();
    manifests.set(
      `${at(manifest, "kind")}/${at(manifest, "metadata.name")}`,
      manifest,
    );
  }
}

const of = (name: string, path: string): unknown =>
  at(manifests.get(name), path);
const SERVER = "Deployment/smcp-server";
const POD = "spec.template.spec";
const container = of(SERVER, `${POD}.containers.0`);
const env = list(container, "env");

Deno.test("the manifests are valid for the oldest and the newest Kubernetes, without unknown fields", async () => {
  for (const version of VERSIONS) {
    const args = ["--strict", "-k", version, ...FILES];
    const output = await check("kubernetes-validate", args);
    assertEquals(output.match(/passed for resource/g)?.length, manifests.size);
  }
});

Deno.test("all Pods are restricted: no root, no capability, no writable file system", () => {
  assertEquals(
    of("Namespace/smcp", "metadata.labels"),
    { "pod-security.kubernetes.io/enforce": "restricted" },
  );
  for (const name of [SERVER, "Deployment/smcp-redis"]) {
    const pod = of(name, POD);
    const security = "securityContext";
    assertEquals([
      at(pod, "automountServiceAccountToken"),
      at(pod, `${security}.runAsNonRoot`),
      at(pod, `${security}.seccompProfile.type`),
      at(pod, `containers.0.${security}`),
    ], [false, true, "RuntimeDefault", {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    }]);
    assert(at(pod, "containers.0.resources.limits.memory"));
  }
});

Deno.test("the Server's Pod has the user of the image, and time to drain", async () => {
  const [user, group] = ["runAsUser", "runAsGroup"].map((name) =>
    of(SERVER, `${POD}.securityContext.${name}`)
  );
  const dockerfile = await Deno.readTextFile(join(root, "Dockerfile"));
  assert(dockerfile.includes(`\nUSER ${user}:${group}\n`));
  const grace = Number(of(SERVER, `${POD}.terminationGracePeriodSeconds`));
  const pause = Number(at(container, "lifecycle.preStop.sleep.seconds"));
  assert(grace >= pause + 20, "docs/scaling.md asks for 20 seconds");
});

Deno.test("what selects the Pods of the Server and of Redis has their labels, and names their ports", () => {
  for (const name of ["smcp-server", "smcp-redis"]) {
    const labels = of(`Deployment/${name}`, "spec.template.metadata.labels");
    assertEquals(of(`Deployment/${name}`, "spec.selector.matchLabels"), labels);
    assertEquals(of(`Service/${name}`, "spec.selector"), labels);
    const policy = `NetworkPolicy/${name}`;
    assertEquals(of(policy, "spec.podSelector.matchLabels"), labels);
    const ports = list(of(`Deployment/${name}`, `${POD}.containers.0`), "ports")
      .map((port) => at(port, "name"));
    assert(ports.includes(of(`Service/${name}`, "spec.ports.0.targetPort")));
    const open = list(manifests.get(policy), "spec.ingress")
      .flatMap((rule) => list(rule, "ports")).map((port) => at(port, "port"));
    assertEquals(open, ports);
  }
  const labels = of(SERVER, "spec.template.metadata.labels");
  const budget = "PodDisruptionBudget/smcp-server";
  assertEquals(of(budget, "spec.selector.matchLabels"), labels);
  const from = "spec.ingress.0.from.0.podSelector.matchLabels";
  assertEquals(of("NetworkPolicy/smcp-redis", from), labels);
});

Deno.test("the Service is sticky by address, and so is the Ingress, whose limits leave room for those of the Server", () => {
  assertEquals(of("Service/smcp-server", "spec.sessionAffinity"), "ClientIP");
  const annotations = Object.fromEntries(
    Object.entries(of("Ingress/smcp-server", "metadata.annotations") as object)
      .map(([name, value]) => [name.split("/")[1], String(value)]),
  );
  assertEquals(annotations["upstream-hash-by"], "$remote_addr");
  const byDefault = (name: string) =>
    Number(serverOptions().find(({ long }) => long === name)?.defaultValue);
  const megabytes = parseInt(annotations["proxy-body-size"] ?? "");
  assert(megabytes * 2 ** 20 >= byDefault("--max-message-bytes"));
  const silence = byDefault("--ping-interval") + byDefault("--ping-timeout");
  assert(Number(annotations["proxy-read-timeout"]) > silence);
  const backend = of(
    "Ingress/smcp-server",
    "spec.rules.0.http.paths.0.backend.service",
  );
  assertEquals(backend, {
    name: "smcp-server",
    port: { name: of("Service/smcp-server", "spec.ports.0.name") },
  });
});

Deno.test("the commands of docs/scaling.md and of the manifests name what there is, and fill the Secrets that the Pods read", async () => {
  const sources = ["docs/scaling.md", ...FILES];
  const texts = await Promise.all(
    sources.map((file) => Deno.readTextFile(join(root, file))),
  );
  const commands = texts.join("\n").match(/kubectl .+/g) ?? [];
  const named = commands.join("\n");
  for (const [, file = ""] of named.matchAll(/-f (\S+)/g)) {
    assert(FILES.includes(file), file);
  }
  for (const [, name] of named.matchAll(/deployment\/(\S+)/g)) {
    assert(manifests.has(`Deployment/${name}`), name);
  }
  const filled = commands.filter((line) => / secret /.test(line)).map((line) =>
    [
      / secret (?:generic )?(\S+)/.exec(line)?.[1],
      /--from-file=(\S+)|--from-literal=(\w+)|stringData":{"(\w+)/.exec(line)
        ?.slice(1).find((key) => key !== undefined),
    ].join()
  );
  const redis = of("Deployment/smcp-redis", `${POD}.containers.0`);
  const references = [...env, ...list(redis, "env")]
    .map((variable) => at(variable, "valueFrom.secretKeyRef"))
    .filter((reference) => reference !== undefined)
    .map((reference) => [at(reference, "name"), at(reference, "key")].join());
  const [volume] = list(of(SERVER, POD), "volumes");
  const { secretName, items: [{ key }] } = at(volume, "secret") as {
    secretName: string;
    items: [{ key: string }];
  };
  assertEquals(
    [...new Set(filled)].sort(),
    [...references, `${secretName},${key}`].sort(),
  );
});

Deno.test("a Server starts with the environment of its Pod, and answers the probes on the named ports", async () => {
  await using place = await scratch();
  const keys = '[{"id": "ci", "key": "0123456789abcdef0123456789abcdef"}]';
  await Deno.writeTextFile(join(place.path, "keys.json"), keys);
  const folder = String(at(container, "volumeMounts.0.mountPath"));
  const known = serverOptions().map(({ envVar }) => envVar);
  const values: Record<string, string> = {};
  for (const variable of env) {
    const name = String(at(variable, "name"));
    assert(known.includes(name), `${name} is the variable of no flag`);
    const value = at(variable, "value");
    if (typeof value === "string") {
      values[name] = value.replace(folder, place.path);
    } else assertEquals(at(variable, "valueFrom.secretKeyRef.optional"), true);
  }
  assertEquals(
    list(container, "ports").map((port) => at(port, "containerPort")),
    [8787, Number(values.SMCP_METRICS_PORT)],
  );
  await using server = start(
    Deno.execPath(),
    [
      ...["run", "-A", "--frozen", join(root, "server/main.ts")],
      ...["--host", "0.0.0.0"],
    ],
    { env: { ...values, SMCP_PORT: "0", SMCP_METRICS_PORT: "0" } },
  );
  const [, port = ""] = await server.line(/listening on http:.*:(\d+) /);
  for (const probe of ["readinessProbe", "livenessProbe"]) {
    assertEquals(at(container, `${probe}.httpGet.port`), "http");
    const path = String(at(container, `${probe}.httpGet.path`));
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    assertEquals(response.status, 200, await response.text());
  }
  assertMatch(server.lines.join("\n"), /metrics/i);
});

/** Returns what is at a path; list items by their number. */
function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
    value,
  );
}

function list(value: unknown, path: string): readonly unknown[] {
  const found = at(value, path);
  assert(Array.isArray(found), `${path} is no list`);
  return found;
}
