/** The host name of approvals, the page, and the flags. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { mcpGateway } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { serverOfUp } from "../../../server/cli/up_server.ts";
import { readApprovalsHost } from "../../../server/http/host_rule.ts";
import { newDevice, RelayedComputer } from "../../support/approvals/relayed.ts";
import { post } from "../../support/mcp/post.ts";
import { tryReadSettings } from "../../support/server/read_settings.ts";
import { startWireServer } from "../../support/server/wire_server.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const OWN = "approve.example.com";

/** The paths of everything else. */
const OTHERS = [
  ...["/", "/health", "/ready", "/metrics", "/console", "/console/icon.svg"],
  ...["/operator/v1/offices", "/mcp/north", "/smcp/?EIO=4", "/socket.io/"],
  "/.well-known/oauth-protected-resource/mcp/north",
];

Deno.test("/approve is served under its host name alone, and nothing else is served there", async () => {
  await using server = await startWireServer({
    approvals: approvals({ host: OWN }),
    operator: { token: "t".repeat(32) },
    gateway: mcpGateway(),
    hosts: "*",
  });
  const phone = await newDevice();
  await using computer = await RelayedComputer.join(server.url, [phone]);
  assertEquals(await computer.update([phone]), { devices: 1, host: OWN });
  const send = (host: string, path: string, method = "GET") =>
    post(server.url + path, {
      method,
      headers: { host, authorization: `Bearer ${phone.token}` },
      body: method === "POST" ? "x" : "",
    });
  const API = "/approve/v1/north/laptop";
  for (const host of [OWN, `${OWN}:8787`, OWN.toUpperCase(), `${OWN}.`]) {
    const answer = await send(host, API, "POST");
    assertEquals([answer.status, answer.body], [200, "yes to x"], host);
    const page = await send(host, "/approve");
    assertEquals(page.status, 200, host);
    assertMatch(String(page.headers["content-security-policy"]), /'none'/);
    for (const path of OTHERS) {
      assertEquals((await send(host, path)).status, 404, `${host}${path}`);
    }
  }
  const upgrade = upgradeHead(
    "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0",
  )
    .map((line) => line.startsWith("Host:") ? `Host: ${OWN}` : line);
  assertEquals((await rawHttp(server.port, upgrade)).status, 404);
  for (
    const host of ["localhost", "smcp.example.com", `x.${OWN}`, "example.com"]
  ) {
    for (const path of ["/approve", "/approve/", "/approve/approve.js", API]) {
      const method = path === API ? "POST" : "GET";
      assertEquals((await send(host, path, method)).status, 404, host + path);
    }
    assertEquals((await send(host, "/health")).status, 200, host);
  }
  assertEquals(computer.asked.length, 4);
});

Deno.test("the page and its parts are served like the console's, below any path", async () => {
  await using server = await startWireServer({ approvals: approvals() });
  const get = (path: string) =>
    fetch(server.url + path, { redirect: "manual" });
  const page = await get("/approve");
  const html = await page.text();
  assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  assertMatch(policy, /default-src 'none'.*frame-ancestors 'none'/);
  for (const [, part = ""] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const answer = await get(`/${part}`);
    await answer.body?.cancel();
    assertEquals(answer.status, 200, part);
  }
  const slash = await get("/approve/");
  await slash.body?.cancel();
  assertEquals(slash.status, 308);
  assertEquals(slash.headers.get("location"), "../approve");
  for (const path of ["/approve/nothing", "/approve/../core.ts", "/approvex"]) {
    const answer = await get(path);
    await answer.body?.cancel();
    assertEquals(answer.status, 404, path);
  }
  const foreign = await post(`${server.url}/approve`, {
    method: "GET",
    headers: { host: "evil.example" },
  });
  assertEquals(foreign.status, 403); // DNS rebinding
});

Deno.test("a host name that can be no host of approvals is an error that says what is expected", () => {
  for (
    const [host, read] of [
      [OWN, OWN],
      ["Approve.Example.COM", OWN],
      ["approve.localhost", "approve.localhost"],
      ["bestätigen.example", "xn--besttigen-y2a.example"],
    ] as const
  ) assertEquals(readApprovalsHost(host, "the host"), read);
  for (
    const host of [
      ...["", "*", "*.example.com", "approve", "localhost", "127.0.0.1"],
      ...["[::1]", "::1", `https://${OWN}`, `${OWN}:443`, `${OWN}/approve`],
      ...[`${OWN},b.example`, "a b.example", "-a.example", "a..example"],
      ...[`${OWN}@evil.example`, "1.2", "0x7f.1"],
    ]
  ) {
    assertThrows(
      () => approvals({ host }),
      TypeError,
      "expected a host name for approvals alone",
      host,
    );
  }
  assertThrows(() => approvals({ hots: OWN } as object), TypeError, "hots");
  assertThrows(
    () => createSmcpServer({ approvals: { kind: "approvals" } }),
    TypeError,
    "expected what approvals()",
  );
  assertThrows(
    () =>
      createSmcpServer({
        approvals: approvals({ host: "smcp.example.com" }),
        publicUrl: "https://smcp.example.com",
      }),
    TypeError,
    "it is that of publicUrl",
  );
});

Deno.test("--approvals and --approvals-host are read; what would do nothing is refused", async () => {
  const read = async (line: string) => {
    const { settings, errors } = await tryReadSettings(line.split(" "));
    const { approvals, approvalsHost } = settings ?? {};
    return settings ? { approvals, approvalsHost } : errors.join("\n");
  };
  assertEquals(await read("--approvals"), {
    approvals: true,
    approvalsHost: undefined,
  });
  assertEquals(
    await read(`--approvals --approvals-host=${OWN.toUpperCase()}`),
    {
      approvals: true,
      approvalsHost: OWN,
    },
  );
  for (
    const [line, problem] of [
      [`--approvals-host=${OWN}`, "does nothing without --approvals"],
      [
        "--approvals --approvals-host=https://a.example",
        "Expected a host name",
      ],
      ["--approvals --approvals-host=approve", "Expected a host name"],
      [
        `--approvals --approvals-host=${OWN} --public-url=https://${OWN}`,
        "is the host of --public-url",
      ],
    ] as const
  ) assertMatch(String(await read(line)), new RegExp(problem), line);
});

Deno.test("smcp up --approvals serves the page, and nothing of it without", async () => {
  for (const approvals of [true, false]) {
    const server = await serverOfUp({
      mcp: false,
      signIn: false,
      approvals,
      operator: false,
      port: 0,
      publicUrl: undefined,
      clustering: undefined,
      office: "home",
      folder: "",
    }, () => Promise.reject(new Error("no MCP")));
    try {
      const { url } = await server.listen({ port: 0 });
      const page = await fetch(`${url}/approve`);
      await page.body?.cancel();
      assertEquals(page.status, approvals ? 200 : 404);
    } finally {
      await server.close();
    }
  }
});
