import type { AwsClient } from "aws4fetch";
import { checkNames, checkNumbers, type NamesOf } from "../../shared/checks.ts";
import type { DpeResolver } from "./dpe.ts";
import { type DocumentFile, publish } from "./resolvers.ts";

/** Options for {@linkcode s3Resolver}. */
export interface S3ResolverOptions {
  /** URL of the storage, such as `https://s3.eu-central-1.amazonaws.com`; Agents must reach it too. */
  readonly endpoint: string;
  /** An existing bucket. */
  readonly bucket: string;
  /** The bucket's region; `auto` or `us-east-1` for a storage without regions. */
  readonly region: string;
  /** Part of the presigned URIs; not a secret. */
  readonly accessKeyId: string;
  /** Never leaves the Computer. */
  readonly secretAccessKey: string;
  /** Prefix of the name of each object, such as `documents/`; default: empty. */
  readonly prefix?: string;
  /** Milliseconds that the URIs are good for, in whole seconds: 1000 to 604,800,000; default 3,600,000. */
  readonly expiresInMs?: number;
}

const S3_NAMES = {
  endpoint: true,
  bucket: true,
  region: true,
  accessKeyId: true,
  secretAccessKey: true,
  prefix: true,
  expiresInMs: true,
} satisfies NamesOf<S3ResolverOptions>;

/** A busy storage answers 503; retries end with the request's timeout. */
const RETRIES = 3;

/**
 * Publishes documents to an S3-compatible object storage (protocol §8.3).
 *
 * The bucket can stay private: the URIs are presigned and grant access to all who have them until
 * they expire. Objects are addressed as `ENDPOINT/BUCKET/PREFIX…`.
 *
 * ```ts
 * import { s3Resolver, type SmcpComputer } from "@a2c-smcp/sdk/computer";
 *
 * export function publish(computer: SmcpComputer, secret: string): void {
 *   computer.registerDpeResolver(s3Resolver({
 *     endpoint: "https://s3.eu-central-1.amazonaws.com",
 *     bucket: "documents",
 *     region: "eu-central-1",
 *     accessKeyId: "AKIA…",
 *     secretAccessKey: secret,
 *   }));
 * }
 * ```
 *
 * @throws {TypeError} when the endpoint is not a URL, or `expiresInMs` is out of its range
 */
export function s3Resolver(options: S3ResolverOptions): DpeResolver {
  checkNames(options, S3_NAMES, "s3Resolver()");
  const bucket = new Bucket(options, expiresInSeconds(options));
  return {
    resolve: (uri, contents, { signal }) =>
      publish(uri, contents, async (file) => {
        signal.throwIfAborted();
        await bucket.upload(file, signal);
        return await bucket.presign(file.name);
      }),
  };
}

/** @throws {TypeError} when the endpoint or the time is invalid */
function expiresInSeconds(
  { endpoint, expiresInMs = 3_600_000 }: S3ResolverOptions,
): number {
  if (!/^https?:/i.test(endpoint) || !URL.canParse(endpoint)) {
    throw new TypeError(
      `Cannot use the S3 endpoint "${endpoint}": it must be an http(s) URL`,
    );
  }
  checkNumbers({ expiresInMs });
  const seconds = expiresInMs / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 604_800) {
    return seconds;
  }
  throw new TypeError(
    `Cannot presign with the expiresInMs ${expiresInMs}: it must be whole seconds, 1000 to 604800000`,
  );
}

/** A bucket of an object storage. */
class Bucket {
  readonly #options: S3ResolverOptions;
  readonly #expiresInSeconds: number;
  #client: Promise<AwsClient> | undefined;

  constructor(options: S3ResolverOptions, expiresInSeconds: number) {
    this.#options = options;
    this.#expiresInSeconds = expiresInSeconds;
  }

  /** Stores a file as an object. */
  async upload(
    { name, bytes, mimeType }: DocumentFile,
    signal: AbortSignal,
  ): Promise<void> {
    const client = await this.#load();
    const response = await client.fetch(this.#address(name), {
      method: "PUT",
      headers: { "content-type": mimeType },
      body: bytes,
      signal,
    }).catch(() => {
      signal.throwIfAborted();
      // The message of `fetch` contains the address of the storage.
      throw new Error("the object storage cannot be reached");
    });
    await response.body?.cancel();
    if (!response.ok) {
      throw new Error(
        `the object storage answered the upload of "${name}" with ${response.status}`,
      );
    }
  }

  /** Returns a URL that grants access to an object for a time. */
  async presign(name: string): Promise<string> {
    const client = await this.#load();
    const { url } = await client.sign(
      `${this.#address(name)}?X-Amz-Expires=${this.#expiresInSeconds}`,
      { method: "GET", aws: { signQuery: true } },
    );
    return url;
  }

  #load(): Promise<AwsClient> {
    const { region, accessKeyId, secretAccessKey } = this.#options;
    return this.#client ??= import("aws4fetch").then(({ AwsClient }) =>
      new AwsClient({
        service: "s3",
        region,
        accessKeyId,
        secretAccessKey,
        retries: RETRIES,
      })
    );
  }

  #address(name: string): string {
    const { endpoint, bucket, prefix = "" } = this.#options;
    const path = [bucket, ...`${prefix}${name}`.split("/")];
    return [endpoint.replace(/\/+$/, ""), ...path.map(encodeURIComponent)]
      .join("/");
  }
}
