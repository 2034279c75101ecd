import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { missingPrograms } from "../../support/cluster/install.ts";
import { findValkey, hasValkey } from "../../support/cluster/server_program.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
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
  const hosts = {
    "smcp.example.com": "",
    "login.example": "login-",
    "tracker.example": "tracker-",
  };
  for (const [host, prefix] of Object.entries(hosts)) {
    const { cert, key } = await newCertificate(host, authority, { host });
    await machine.write(`${prefix}cert.pem`, cert);
    await machine.write(`${prefix}key.pem`, key);
  }
  await machine.write("ca.pem", authority.cert);
  await machine.write("clients.pem", authority.cert);
}

/** Writes `office.json`, of an MCP server `files` with tools that no published one has. */
export async function givenConfiguration({ machine }: Given): Promise<void> {
  const path = fileURLToPath(new URL("files_server.ts", import.meta.url));
  const files = {
    type: "stdio",
    server_parameters: { command: "deno", args: ["run", "-A", path] },
    default_tool_meta: { auto_apply: true },
  };
  await machine.write("office.json", JSON.stringify({ servers: { files } }));
}

/** What a reader of the pages for Agents and Computers has done first. */
export const FIRST = {
  init: "smcp-computer init",
  server: "smcp-server",
  up: "smcp up --config computer.json --name laptop --office team-a --yes",
  /** As the README starts it: the office is `home`. */
  home: "deno run -A ~/a2c-smcp/mod.ts up --config computer.json --name laptop",
  notes: 'echo "buy milk" > notes.txt',
} as const;

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
