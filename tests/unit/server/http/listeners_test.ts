import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { connect } from "node:net";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { closeServer, listenOn } from "../../../../server/http/listen.ts";
import {
  describeTlsFailure,
  watchListener,
} from "../../../../server/http/listeners.ts";

const silent = () => createServer((_request, response) => response.end("ok"));

/** Simulates a listener that accepts nothing. */
function hideConnections(server: Server): void {
  server.removeAllListeners("connection");
  server.on("connection", (socket) => socket.destroy());
}

/** Asks, at each attempt to listen from now on, whether it is made. */
function onListen(server: Server, isMade: () => boolean): void {
  const listen = server.listen.bind(server);
  server.listen = (...args: unknown[]) =>
    isMade() ? Reflect.apply(listen, server, args) : server;
}

Deno.test({
  name:
    "watchListener() does not touch a listener that accepts, with or without clients",
}, async () => {
  const server = silent();
  const { hostname, port } = await listenOn(server, {});
  let listening = 0;
  let accepted = 0;
  server.on("listening", () => listening++);
  const three = Promise.withResolvers<void>();
  server.on("connection", () => {
    if (++accepted === 3) three.resolve();
  });
  const lost = (error: Error) => three.reject(error);
  const stop = watchListener({ server, hostname, port, lost, intervalMs: 20 });
  await three.promise; // the probe, since there are no clients
  stop();
  assertEquals(listening, 0);
  await closeServer(server);
});

Deno.test({
  name:
    "watchListener() restarts a listener that accepts nothing; open connections stay",
}, async () => {
  const server = silent();
  const { hostname, port } = await listenOn(server, {});
  const served = once(server, "connection");
  const client = connect(port, hostname);
  await Promise.all([once(client, "connect"), served]);
  const { promise: again, resolve, reject } = Promise.withResolvers<void>();
  const [http] = server.listeners("connection");
  const stop = watchListener({
    server,
    hostname,
    port,
    lost: reject,
    intervalMs: 20,
  });
  const [watch] = server.listeners("connection").slice(-1);
  hideConnections(server);
  server.once("listening", () => {
    server.removeAllListeners("connection");
    for (const each of [http, watch]) {
      server.on("connection", (...args) => each?.apply(server, args));
    }
    server.once("connection", () => resolve());
  });
  await again;
  assertEquals(client.destroyed, false);
  const answer = await fetch(`http://${hostname}:${port}/`);
  assertEquals(await answer.text(), "ok");
  stop();
  client.destroy();
  await closeServer(server);
});

Deno.test({
  name: "watchListener() tries again when the listener cannot be restarted",
}, async () => {
  const server = silent();
  const { hostname, port } = await listenOn(server, {});
  let tries = 0;
  onListen(server, () => {
    if (++tries > 1) return true;
    server.emit("error", new Error("no descriptor is left"));
    return false;
  });
  const { promise: again, resolve, reject } = Promise.withResolvers<void>();
  server.once("listening", () => resolve());
  const stop = watchListener({
    server,
    hostname,
    port,
    lost: reject,
    intervalMs: 10,
  });
  hideConnections(server);
  await again;
  stop();
  assertEquals(tries, 2);
  await closeServer(server);
});

Deno.test({
  name: "watchListener() reports a listener that cannot be restarted, once",
}, async () => {
  const server = silent();
  const { hostname, port } = await listenOn(server, {});
  let tries = 0;
  onListen(server, () => {
    tries++;
    return true;
  });
  const error = await new Promise<Error>((lost) => {
    watchListener({ server, hostname, port, lost, intervalMs: 10 });
    hideConnections(server);
  });
  assertEquals(tries, 3);
  assertMatch(
    error.message,
    /^Cannot accept connections on 127\.0\.0\.1 port \d+ any more$/,
  );
  await closeServer(server);
});

Deno.test("describeTlsFailure() says which side lacks what, for the codes of Node and of Deno", () => {
  const rows: [string, string | undefined, string][] = [
    [
      "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE",
      undefined,
      "the client shows no certificate",
    ],
    ["ECONNRESET", "CERT_HAS_EXPIRED", "the client's certificate has expired"],
    [
      "ECONNRESET",
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "the client's certificate is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
    ],
    [
      "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
      undefined,
      "the client does not know the authority of this server's certificate",
    ],
    [
      "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN",
      undefined,
      "the client does not accept this server's certificate",
    ],
    ["ERR_SSL_HTTP_REQUEST", undefined, "the client does not speak TLS"],
    [
      "ERR_SSL_WRONG_VERSION_NUMBER",
      undefined,
      "the client does not speak TLS",
    ],
    ["ERR_SSL_UNSUPPORTED_PROTOCOL", undefined, "no version or cipher of TLS"],
    [
      "ECONNRESET",
      undefined,
      "the client closed the connection during the handshake",
    ],
    ["ERR_SSL_ANYTHING", undefined, "the handshake failed (ERR_SSL_ANYTHING)"],
  ];
  for (const [code, certificate, expected] of rows) {
    assertStringIncludes(
      describeTlsFailure({ code, ...(certificate && { certificate }) }),
      expected,
    );
  }
});
