import { assertEquals } from "@std/assert";
import {
  FIRST,
  givenCertificates,
  givenKeys,
  KEYS,
} from "../support/givens.ts";
import type { Given, Prepared, Scene } from "../support/scene.ts";

const page = "docs/mcp.md";

/** What a program finds at the Server: where people sign in. */
async function issuerAt({ machine }: Given): Promise<unknown> {
  const output = await machine.run(
    "curl -s http://127.0.0.1:8787/.well-known/oauth-authorization-server",
  );
  return JSON.parse(output).issuer;
}

/** The Server of the page, with TLS of its own in place of Caddy's. */
const PUBLIC: Prepared = {
  because: "smcp.example.com is an example of a machine with a name",
  make: async (given) => {
    await givenCertificates(given);
    await givenKeys(given);
    await given.serve(
      "smcp-server --host 0.0.0.0 --port 443 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem --public-url https://smcp.example.com --sign-in --sign-in-file sign-ins.db",
    );
    return { LAPTOP_KEY: KEYS.laptop, SMCP_TLS_CA: "ca.pem" };
  },
};

/** The recipes of docs/mcp.md for programs that take a URL alone. */
export const MCP_CLIENTS: readonly Scene[] = [
  {
    page,
    has: "smcp-server key add ann",
    then: async (given) =>
      assertEquals(await issuerAt(given), "https://smcp.example.com"),
  },
  {
    page,
    has: 'SMCP_API_KEY="$LAPTOP_KEY" smcp-computer run',
    prepared: PUBLIC,
  },
  {
    page,
    has: "smcp up --config computer.json --sign-in",
    before: [FIRST.init],
    sees: { "smcp up": /^Key: \S{20,}$/ },
    then: async (given) =>
      assertEquals(await issuerAt(given), "https://name.trycloudflare.com"),
  },
];
