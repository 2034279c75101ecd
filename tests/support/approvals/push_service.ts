/**
 * A push service of the test's own, over HTTPS, and the browser behind it, which decrypts with the crypto of
 * Node: nothing is shared with the sender.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  createDecipheriv,
  createECDH,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { importJWK, type JWTPayload, jwtVerify } from "jose";
import type { PushSubscription } from "../../../shared/approvals/question.ts";
import { newAuthority, newCertificate } from "../certificates.ts";

/** A test may replace that of the process. */
const realFetch = globalThis.fetch;

/** A message that it got. */
export interface Push {
  readonly path: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** A browser's subscription, with what only the browser has. */
export class Browser {
  readonly #ecdh = createECDH("prime256v1");
  readonly #auth: Buffer;
  readonly subscription: PushSubscription;

  private constructor(
    endpoint: string,
    vapid: JsonWebKey,
    { privateKey, auth }: { privateKey?: Buffer; auth?: Buffer },
  ) {
    if (privateKey) this.#ecdh.setPrivateKey(privateKey);
    else this.#ecdh.generateKeys();
    this.#auth = auth ?? randomBytes(16);
    this.subscription = {
      endpoint,
      p256dh: this.#ecdh.getPublicKey("base64url"),
      auth: this.#auth.toString("base64url"),
      vapid,
    };
  }

  /** @param secrets of a test vector; by default random ones */
  static async make(
    endpoint: string,
    secrets: { privateKey?: Buffer; auth?: Buffer } = {},
  ): Promise<Browser> {
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const { subtle } = crypto;
    const { privateKey } = await subtle.generateKey(algorithm, true, ["sign"]);
    const vapid = await subtle.exportKey("jwk", privateKey);
    return new Browser(endpoint, vapid, secrets);
  }

  /** Returns the plain bytes of a message, without its padding (RFC 8188, RFC 8291). */
  decrypt(body: Buffer): Buffer {
    const salt = body.subarray(0, 16);
    const size = body.readUInt32BE(16);
    const sender = body.subarray(21, 21 + body.readUInt8(20));
    const sealed = body.subarray(21 + sender.length);
    if (sealed.length > size) throw new Error("more than one record");
    const info = Buffer.concat([
      Buffer.from("WebPush: info\0"),
      this.#ecdh.getPublicKey(),
      sender,
    ]);
    const shared = this.#ecdh.computeSecret(sender);
    const derive = (key: Buffer, salt: Buffer, info: Buffer, bytes: number) =>
      Buffer.from(hkdfSync("sha256", key, salt, info, bytes));
    const secret = derive(shared, this.#auth, info, 32);
    const part = (name: string, bytes: number) =>
      derive(secret, salt, Buffer.from(`Content-Encoding: ${name}\0`), bytes);
    const decipher = createDecipheriv(
      "aes-128-gcm",
      part("aes128gcm", 16),
      part("nonce", 12),
    );
    decipher.setAuthTag(sealed.subarray(-16));
    const plain = Buffer.concat([
      decipher.update(sealed.subarray(0, -16)),
      decipher.final(),
    ]);
    const end = plain.findLastIndex((byte) => byte !== 0);
    if (plain[end] !== 2) throw new Error("not the last record");
    return plain.subarray(0, end);
  }

  /**
   * Verifies who sent a message, as a push service does (RFC 8292): by the key of the subscription.
   *
   * @returns the claims
   */
  async verify(authorization: string): Promise<JWTPayload> {
    const [, jwt = "", key] =
      /^vapid t=([\w-]+\.[\w-]+\.[\w-]+), k=([\w-]+)$/.exec(authorization) ??
        [];
    const { x = "", y = "", kty, crv } = this.subscription.vapid;
    const point = [x, y].map((each) => Buffer.from(each, "base64url"));
    const expected = Buffer.concat([Buffer.of(4), ...point]);
    if (key !== expected.toString("base64url")) throw new Error("another key");
    const jwk = { x, y, kty: kty ?? "", crv: crv ?? "" };
    const { payload } = await jwtVerify(jwt, await importJWK(jwk, "ES256"), {
      algorithms: ["ES256"],
      audience: new URL(this.subscription.endpoint).origin,
    });
    return payload;
  }
}

/** A push service on loopback, with a certificate of its own authority. */
export class PushService implements AsyncDisposable {
  /** How it answers; by default as real ones do. */
  answer: (push: Push) => Response | Promise<Response> = () =>
    new Response(null, { status: 201 });
  readonly pushes: Push[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #client: Deno.HttpClient;

  private constructor(cert: string, key: string, ca: string) {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      cert,
      key,
      onListen: () => {},
    }, (request) => this.#take(request));
    this.#client = Deno.createHttpClient({ caCerts: [ca] });
  }

  static async start(): Promise<PushService> {
    const authority = await newAuthority("push authority");
    const { cert, key } = await newCertificate("push service", authority);
    return new PushService(cert, key, authority.cert);
  }

  /** Its name and port. */
  get host(): string {
    return `localhost:${this.#server.addr.port}`;
  }

  /** A `fetch` that trusts its authority. */
  readonly fetch = (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const client = this.#client;
    return realFetch(input, { ...init, client });
  };

  /** Subscribes a browser. */
  subscribe(path = `/push/${crypto.randomUUID()}`): Promise<Browser> {
    return Browser.make(`https://${this.host}${path}`);
  }

  async #take(request: Request): Promise<Response> {
    const push = {
      path: new URL(request.url).pathname,
      method: request.method,
      headers: new Headers(request.headers),
      body: Buffer.from(await request.arrayBuffer()),
    };
    this.pushes.push(push);
    return await this.answer(push);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    await this.#server.shutdown();
  }
}
