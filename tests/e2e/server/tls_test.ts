import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { once } from "node:events";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import {
  type Certificate,
  newAuthority,
  newCertificate,
} from "../../support/certificates.ts";
import { connectRaw, joinRaw } from "../../support/wire/raw_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

/** Requests `/health` over HTTPS; returns the answer and the subject of the server's certificate. */
function health(
  url: string,
  tls: { ca: string } & Partial<Certificate>,
): Promise<{ status: unknown; shown: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/health`,
      { ...tls, agent: false },
      async (response) => {
        const { subject } = (response.socket as TLSSocket).getPeerCertificate();
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (text) => body += text);
        await once(response, "end");
        resolve({ status: JSON.parse(body).status, shown: subject.CN });
      },
    );
    asked.on("error", reject);
    asked.end();
  });
}

Deno.test("TLS: https and wss, over both transports (spec §10)", async () => {
  const ca = await newAuthority("root");
  const tls = await newCertificate("server", ca);
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls });
  assertMatch(url, /^https:\/\/127\.0\.0\.1:\d+$/);
  assertEquals(await health(url, { ca: ca.cert }), {
    status: "ok",
    shown: "server",
  });
  for (const transport of ["polling", "websocket"] as const) {
    const options = { tls: { ca: ca.cert }, transports: [transport] };
    await using computer = await joinRaw(
      { url, ...options },
      "computer",
      "c",
      "o",
    );
    await using agent = await joinRaw({ url, ...options }, "agent", "a", "o");
    computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack({ tools: [] }));
    const asked = { agent: "a", req_id: "1", computer: "c" };
    assertEquals(await agent.ask(GET_TOOLS_EVENT, asked), { tools: [] });
  }
});

Deno.test("mTLS: clients without a certificate of the authority are refused; it counts as authentication (spec §10)", async () => {
  const ca = await newAuthority("root");
  const clients = await newAuthority("clients");
  const tls = { ...await newCertificate("server", ca), clientCa: clients.cert };
  const known = await newCertificate("laptop", clients);
  const stranger = await newCertificate(
    "laptop",
    await newAuthority("clients"),
  );
  await using server = createSmcpServer();
  const { port } = await server.listen({ tls, hostname: "0.0.0.0" });
  const url = `https://127.0.0.1:${port}`;
  const trusting = { ca: ca.cert };
  const { status } = await health(url, { ...trusting, ...known });
  assertEquals(status, "ok");
  for (const transport of ["polling", "websocket"] as const) {
    const transports = [transport];
    await using client = await connectRaw(url, {
      transports,
      tls: { ...trusting, ...known },
    });
    assertEquals(await client.join("agent", "a", "o"), [true, null]);
    for (const shown of [{}, stranger]) {
      await assertRejects(() =>
        connectRaw(url, { transports, tls: { ...trusting, ...shown } })
      );
    }
  }
  for (const shown of [{}, stranger]) {
    await assertRejects(() => health(url, { ...trusting, ...shown }));
  }
});

Deno.test("reloadTls() replaces certificates for new connections, and open ones stay", async () => {
  const ca = await newAuthority("root");
  const [first, second] = [
    await newCertificate("first", ca),
    await newCertificate("second", ca),
  ];
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls: first });
  const trusting = { ca: ca.cert };
  await using client = await joinRaw({ url, tls: trusting }, "agent", "a", "o");
  assertEquals((await health(url, trusting)).shown, "first");
  server.reloadTls(second);
  assertEquals((await health(url, trusting)).shown, "second");
  assertEquals(client.socket.connected, true);
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
});

Deno.test("reloadTls() refuses invalid certificates, without showing them; the old ones stay", async () => {
  const ca = await newAuthority("root");
  const tls = await newCertificate("first", ca);
  const other = await newCertificate("other", ca);
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls });
  const bad = [
    [{ ...tls, key: other.key }, "the key is not the certificate's"],
    [{ ...tls, cert: "hunter2" }, "the certificate is not valid PEM"],
    [{ ...tls, key: "hunter2" }, "the private key is not valid PEM"],
    [
      { ...tls, clientCa: "hunter2" },
      "the certificate of the client CA is not valid PEM",
    ],
  ] as const;
  for (const [options, reason] of bad) {
    const { message } = assertThrows(
      () => server.reloadTls(options),
      TypeError,
    );
    assertEquals(message, `Cannot use TLS: ${reason}`);
  }
  assertEquals((await health(url, { ca: ca.cert })).shown, "first");
});

Deno.test("reloadTls() does not switch client certificates on or off, which a reload cannot enforce", async () => {
  const ca = await newAuthority("root");
  const [first, second] = [
    await newCertificate("first", ca),
    await newCertificate("second", ca),
  ];
  const trusting = { ca: ca.cert, ...second };
  for (const mtls of [true, false]) {
    const withCa = { ...second, clientCa: ca.cert };
    await using server = createSmcpServer();
    const { url } = await server.listen({
      tls: mtls ? { ...withCa, ...first } : first,
    });
    const { message } = assertThrows(
      () => server.reloadTls(mtls ? second : withCa),
      TypeError,
    );
    assertEquals(
      message,
      `Cannot switch client certificates on or off by a reload; ${
        mtls ? "give" : "leave out"
      } clientCa as when the server began to listen`,
    );
    assertEquals((await health(url, trusting)).shown, "first");
    server.reloadTls(mtls ? withCa : second);
    assertEquals((await health(url, trusting)).shown, "second");
    if (mtls) await assertRejects(() => health(url, { ca: ca.cert }));
  }
});

Deno.test({
  name:
    "the command accepts certificates by flag, and reloads them at SIGHUP without dropping connections",
  timeout: 120_000,
}, async () => {
  const ca = await newAuthority("root");
  const dir = await Deno.makeTempDir();
  const files = { cert: `${dir}/cert.pem`, key: `${dir}/key.pem` };
  const write = async ({ cert, key }: Certificate) => {
    await Deno.writeTextFile(files.cert, cert);
    await Deno.writeTextFile(files.key, key);
  };
  await write(await newCertificate("first", ca));
  const trusting = { ca: ca.cert };
  {
    await using command = await startServerCommand([
      "--port=0",
      `--tls-cert=${files.cert}`,
      `--tls-key=${files.key}`,
    ]);
    assertMatch(command.url, /^https:/);
    const { url } = command;
    await using client = await joinRaw(
      { url, tls: trusting },
      "agent",
      "a",
      "o",
    );
    await write(await newCertificate("second", ca));
    command.kill("SIGHUP");
    await command.logged("read anew");
    assertEquals((await health(url, trusting)).shown, "second");
    await Deno.writeTextFile(files.cert, "junk");
    command.kill("SIGHUP");
    await command.logged("everything stays as it was");
    assertEquals((await health(url, trusting)).shown, "second");
    assertEquals(await client.join("agent", "a", "o"), [true, null]);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test({
  name:
    "the command reloads API keys at SIGHUP: new ones work, old ones and their sessions do not",
  timeout: 120_000,
}, async () => {
  const dir = await Deno.makeTempDir();
  const file = `${dir}/keys.json`;
  const write = (key: string) =>
    Deno.writeTextFile(file, JSON.stringify([{ id: "ci", key }]));
  await write("old-key");
  {
    await using command = await startServerCommand([
      "--port=0",
      `--api-keys=${file}`,
    ]);
    const as = (api_key: string) => ({ auth: { api_key } });
    await using early = await connectRaw(command.url, as("old-key"));
    const ended = early.disconnected();
    await write("new-key");
    command.kill("SIGHUP");
    await command.logged("session_revoked");
    await ended;
    await assertRejects(() => connectRaw(command.url, as("old-key")));
    await using late = await connectRaw(command.url, as("new-key"));
    assertEquals(await late.join("agent", "a", "o"), [true, null]);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test({
  name:
    "the command logs for each failed handshake which side lacks what, and nothing for port checks",
  timeout: 120_000,
}, async () => {
  const ca = await newAuthority("root");
  const clients = await newAuthority("clients");
  const stranger = await newCertificate("laptop", ca);
  const dir = await Deno.makeTempDir();
  const { cert, key } = await newCertificate("server", ca);
  await Deno.writeTextFile(`${dir}/cert.pem`, cert);
  await Deno.writeTextFile(`${dir}/key.pem`, key);
  await Deno.writeTextFile(`${dir}/clients.pem`, clients.cert);
  {
    await using command = await startServerCommand([
      ...["--port=0", `--tls-cert=${dir}/cert.pem`, `--tls-key=${dir}/key.pem`],
      `--tls-client-ca=${dir}/clients.pem`,
    ]);
    const { url } = command;
    const port = Number(new URL(url).port);
    (await Deno.connect({ port })).close();
    await assertRejects(() => health(url, { ca: ca.cert }));
    await command.logged("the client shows no certificate, and");
    await assertRejects(() => health(url, { ca: ca.cert, ...stranger }));
    await command.logged("the client's certificate is not accepted");
    await assertRejects(() => health(url, { ca: clients.cert }));
    await command.logged("does not know the authority of this server's");
    const plain = await Deno.connect({ port });
    await plain.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
    await command.logged("the client does not speak TLS");
    plain.close();
    const lines = command.log.trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals(
      lines.map(({ message, address }) => [message, address]),
      lines.map(() => ["tls_failed", "127.0.0.1"]),
    );
    assertEquals(lines.length, 4);
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test({
  name:
    "--require-tls refuses a public address without --tls-cert, and says what to do",
}, async () => {
  const keys = '[{"id": "ci", "key": "k"}]';
  await using command = await startServerCommand(
    ["--port=0", "--host=0.0.0.0", "--require-tls"],
    { SMCP_API_KEYS: keys },
  );
  assertEquals(await command.exited, 2);
  assertEquals(
    command.log,
    "error: cannot listen on 0.0.0.0 without TLS: keys, calls and results can be read on their way; use --tls-cert and --tls-key, or leave out --require-tls\n",
  );
});
