import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { missingPrograms } from "../../support/cluster/install.ts";
import { findValkey, hasValkey } from "../../support/cluster/server_program.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
import { cacheOfDeno } from "../../docs/support/home.ts";
import type { Given } from "./scene.ts";

/** The keys of {@linkcode givenKeys}, by holder; "the key that the operator gave you" is the Agent's. */
export const KEYS = {
  planner: "the key that the operator gave you",
  laptop: "the-key-of-the-laptop-0123456789",
  ops: "the-key-of-the-operators-0123456",
} as const;

/** Writes `keys.json`; returns the variable of a key for Agents. */
export async function givenKeys(
  { machine }: Given,
): Promise<Record<string, string>> {
  const roles = { planner: "agent", laptop: "computer", ops: "operator" };
  const entries = Object.entries(roles).map(([id, role]) => ({
    id,
    key: `sha256:${
      createHash("sha256").update(KEYS[id as keyof typeof KEYS]).digest("hex")
    }`,
    roles: [role],
  }));
  await machine.write("keys.json", JSON.stringify(entries));
  return { KEY: KEYS.planner };
}

/** Writes certificates for all hosts of the pages, of an authority of our own: `cert.pem`, `key.pem`, `ca.pem`, `clients.pem`. */
export async function givenCertificates({ machine }: Given): Promise<void> {
  const authority = await newAuthority("example");
  for (const host of ["smcp.example.com", "login.example"]) {
    const { cert, key } = await newCertificate(host, authority, { host });
    const names = host === "smcp.example.com"
      ? ["cert.pem", "key.pem"]
      : ["login-cert.pem", "login-key.pem"];
    await machine.write(names[0] ?? "", cert);
    await machine.write(names[1] ?? "", key);
  }
  await machine.write("ca.pem", authority.cert);
  await machine.write("clients.pem", authority.cert);
}

/** Writes a `computer.json` with the MCP server `files`, and the files that the pages speak of. */
export async function givenConfiguration(
  { machine }: Given,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const path = fileURLToPath(new URL("files_server.ts", import.meta.url));
  await machine.write(
    "computer.json",
    JSON.stringify({
      ...more,
      servers: {
        files: {
          type: "stdio",
          server_parameters: {
            command: "deno",
            args: ["run", "-A", path],
            env: { DENO_DIR: await cacheOfDeno() },
          },
          default_tool_meta: { auto_apply: true },
        },
      },
    }),
  );
  await machine.write("notes.txt", "buy milk\n");
  await machine.write("photo.jpg", "no photo");
}

/** Starts a Server and a Computer, "laptop" with the MCP server `files`, in an office. */
export async function givenOffice(
  given: Given,
  office = "team-a",
  flags = "",
): Promise<RegExpMatchArray> {
  await givenConfiguration(given);
  const line =
    `smcp up --config computer.json --name laptop --office ${office} ${flags}`;
  const child = await given.serve(line, /^MCP server files: running/);
  return child;
}

const hasRedis = (await missingPrograms(["redis-server"])).length === 0;

/** Says why a scene with Redis is skipped; "" where there is one, or Valkey in its place. */
export const WITHOUT_REDIS: string = hasRedis || hasValkey
  ? ""
  : " (skipped: neither redis-server nor Valkey is here)";

/** Starts a Redis at an address of the pages. */
export async function givenRedis(
  given: Given,
  address: string,
  password?: string,
): Promise<void> {
  const program = hasRedis ? "redis-server" : await findValkey();
  const access = password === undefined
    ? "--protected-mode no"
    : `--requirepass ${password}`;
  await given.serve(
    `"${program}" --bind ${address} --save '' ${access}`,
    /Ready to accept connections/,
  );
}
