import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { once } from "node:events";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import { createSmcpServer } from "../../../server/mod.ts";
import {
  type Certificate,
  newAuthority,
  newCertificate,
} from "../../support/certificates.ts";
import { connectRaw, joinRaw } from "../../support/wire/raw_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

const ca = await newAuthority("root");
const trusting = { ca: ca.cert };
const first = await newCertificate("first", ca);
const second = await newCertificate("second", ca);

/** A folder with files, until the end of its scope. */
async function folderOf(files: object) {
  const path = await Deno.makeTempDir();
  const write = async (files: object) => {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${path}/${name}`, text);
    }
  };
  await write(files);
  return {
    path,
    write,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

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

Deno.test("TLS: https and wss, over both transports (protocol §10)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls: first });
  assertMatch(url, /^https:\/\/127\.0\.0\.1:\d+$/);
  const shown = await health(url, trusting);
  assertEquals(shown, { status: "ok", shown: "first" });
  for (const transport of ["polling", "websocket"] as const) {
    const to = { url, tls: trusting, transports: [transport] };
    await using computer = await joinRaw(to, "computer", "c", "o");
    await using agent = await joinRaw(to, "agent", "a", "o");
    computer.handle("client:get_tools", (_payload, ack) => ack({ tools: [] }));
    const asked = { agent: "a", req_id: "1", computer: "c" };
    assertEquals(await agent.ask("client:get_tools", asked), { tools: [] });
  }
});

Deno.test("mTLS: clients without a certificate of the authority are refused; it counts as authentication (protocol §10)", async () => {
  const clients = await newAuthority("clients");
  const tls = { ...first, clientCa: clients.cert };
  const known = await newCertificate("laptop", clients);
  const stranger = await newCertificate(
    "laptop",
    await newAuthority("clients"),
  );
  await using server = createSmcpServer();
  const { port } = await server.listen({ tls, hostname: "0.0.0.0" });
  const url = `https://127.0.0.1:${port}`;
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
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls: first });
  await using client = await joinRaw({ url, tls: trusting }, "agent", "a", "o");
  assertEquals((await health(url, trusting)).shown, "first");
  server.reloadTls(second);
  assertEquals((await health(url, trusting)).shown, "second");
  assertEquals(client.socket.connected, true);
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
});

Deno.test("reloadTls() refuses invalid certificates, without showing them; the old ones stay", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen({ tls: first });
  const bad = [
    [{ ...first, key: second.key }, "the key is not the certificate's"],
    [{ ...first, cert: "hunter2" }, "the certificate is not valid PEM"],
    [{ ...first, key: "hunter2" }, "the private key is not valid PEM"],
    [
      { ...first, clientCa: "hunter2" },
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
  assertEquals((await health(url, trusting)).shown, "first");
});

Deno.test("reloadTls() does not switch client certificates on or off, which a reload cannot enforce", async () => {
  const showing = { ...trusting, ...second };
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
    assertEquals((await health(url, showing)).shown, "first");
    server.reloadTls(mtls ? withCa : second);
    assertEquals((await health(url, showing)).shown, "second");
    if (mtls) await assertRejects(() => health(url, trusting));
  }
});

Deno.test("the command accepts certificates by flag, and reloads them at SIGHUP without dropping connections", async () => {
  await using files = await folderOf(first);
  await using command = await startServerCommand([
    "--port=0",
    `--tls-cert=${files.path}/cert`,
    `--tls-key=${files.path}/key`,
  ]);
  const { url } = command;
  assertMatch(url, /^https:/);
  await using client = await joinRaw({ url, tls: trusting }, "agent", "a", "o");
  await files.write(second);
  command.kill("SIGHUP");
  await command.logged("are reloaded");
  assertEquals((await health(url, trusting)).shown, "second");
  await files.write({ cert: "junk" });
  command.kill("SIGHUP");
  await command.logged("reload failed");
  assertEquals((await health(url, trusting)).shown, "second");
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
});

Deno.test("the command reloads API keys at SIGHUP: new ones work, old ones and their sessions do not", async () => {
  const keys = (key: string) => ({ keys: JSON.stringify([{ id: "ci", key }]) });
  await using files = await folderOf(keys("old-key"));
  await using command = await startServerCommand([
    "--port=0",
    `--api-keys=${files.path}/keys`,
  ]);
  const as = (api_key: string) => ({ auth: { api_key } });
  await using early = await connectRaw(command.url, as("old-key"));
  const ended = early.disconnected();
  await files.write(keys("new-key"));
  command.kill("SIGHUP");
  await command.logged("session_revoked");
  await ended;
  await assertRejects(() => connectRaw(command.url, as("old-key")));
  await using late = await connectRaw(command.url, as("new-key"));
  assertEquals(await late.join("agent", "a", "o"), [true, null]);
});

Deno.test("the command logs for each failed handshake which side lacks what, and nothing for port checks", async () => {
  const clients = await newAuthority("clients");
  await using files = await folderOf({ ...first, ca: clients.cert });
  await using command = await startServerCommand([
    "--port=0",
    `--tls-cert=${files.path}/cert`,
    `--tls-key=${files.path}/key`,
    `--tls-client-ca=${files.path}/ca`,
  ]);
  const { url } = command;
  const port = Number(new URL(url).port);
  (await Deno.connect({ port })).close();
  await assertRejects(() => health(url, trusting));
  await command.logged("the client sent no certificate, and");
  await assertRejects(() => health(url, { ...trusting, ...second }));
  await command.logged("the client's certificate is not accepted");
  await assertRejects(() => health(url, { ca: clients.cert }));
  await command.logged("does not know the authority of this server's");
  using plain = await Deno.connect({ port });
  await plain.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
  await command.logged("the client does not speak TLS");
  const lines = command.log.trimEnd().split("\n").map((line) => {
    const { message, address } = JSON.parse(line);
    return `${message} ${address}`;
  });
  assertEquals(lines, Array(4).fill("tls_failed 127.0.0.1"));
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
    "error: cannot listen on 0.0.0.0 without TLS: keys, calls and results can be read in transit; use --tls-cert and --tls-key, or leave out --require-tls\n",
  );
});
