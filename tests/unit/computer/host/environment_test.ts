import { assertEquals } from "@std/assert";
import {
  inheritedVariables,
  urlCredentials,
} from "../../../../computer/util/secrets.ts";
import { NETWORK_VARIABLES } from "../../../../shared/network_variables.ts";

Deno.test("inheritedVariables() picks certificate authorities and proxies, in both cases, and no shell functions", () => {
  assertEquals(
    inheritedVariables({
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      https_proxy: "http://proxy:3128",
      NO_PROXY: "",
      ALL_PROXY: undefined,
      SSL_CERT_FILE: "() { :; }; echo",
      API_TOKEN: "s3cret",
      PATH: "/bin",
    }),
    {
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      https_proxy: "http://proxy:3128",
      NO_PROXY: "",
    },
  );
});

Deno.test("urlCredentials() finds credentials before a host, raw and decoded", () => {
  const rows: [value: string, secrets: string[]][] = [
    ["http://proxy:3128", []],
    ["me@example.com", []],
    ["http://me:p%40ssword@proxy:3128/", [
      "me:p%40ssword",
      "p%40ssword",
      "p@ssword",
    ]],
    ["me:password@proxy", ["me:password", "password", "password"]],
    ["http://me:abc@proxy", ["me:abc"]],
    ["http://token@proxy", ["token", "token", "token"]],
    ["http://me:50%25%@proxy", ["me:50%25%", "50%25%", "50%25%"]],
    ["https://proxy/?a=b@c", []],
  ];
  for (const [value, secrets] of rows) {
    assertEquals(urlCredentials({ ANY: value }), secrets, value);
  }
});

Deno.test("the documentation names every variable that an MCP server inherits", async () => {
  const page = await Deno.readTextFile(
    new URL("../../../../docs/configuration.md", import.meta.url),
  );
  const missing = NETWORK_VARIABLES.filter((name) =>
    !page.includes(`\`${name.toUpperCase()}\``)
  );
  assertEquals(missing, []);
});
