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
 * The bucket can stay private: the URIs are presigned and grant access to anybody who has them until
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
  const { endpoint, bucket, prefix = "", expiresInMs = 3_600_000 } = options;
  const { region, accessKeyId, secretAccessKey } = options;
  if (!/^https?:/i.test(endpoint) || !URL.canParse(endpoint)) {
    throw new TypeError(
      `Cannot use the S3 endpoint "${endpoint}": it must be an http(s) URL`,
    );
  }
  checkNumbers({ expiresInMs });
  const expires = expiresInMs / 1000;
  if (!Number.isInteger(expires) || expires < 1 || expires > 604_800) {
    throw new TypeError(
      `Cannot presign with the expiresInMs ${expiresInMs}: it must be whole seconds, 1000 to 604800000`,
    );
  }
  let loading: Promise<AwsClient> | undefined;
  const load = () =>
    loading ??= import("aws4fetch").then(({ AwsClient }) =>
      new AwsClient({
        service: "s3",
        region,
        accessKeyId,
        secretAccessKey,
        retries: RETRIES,
      })
    );
  const locate = (name: string) =>
    [endpoint.replace(/\/+$/, ""), bucket, ...`${prefix}${name}`.split("/")]
      .map((part, i) => i === 0 ? part : encodeURIComponent(part)).join("/");

  const upload = async (
    { name, bytes, mimeType }: DocumentFile,
    signal: AbortSignal,
  ) => {
    const client = await load();
    const response = await client.fetch(locate(name), {
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
  };
  const presign = async (name: string): Promise<string> => {
    const client = await load();
    const { url } = await client.sign(
      `${locate(name)}?X-Amz-Expires=${expires}`,
      { method: "GET", aws: { signQuery: true } },
    );
    return url;
  };
  return {
    resolve: (uri, contents, { signal }) =>
      publish(uri, contents, async (file) => {
        signal.throwIfAborted();
        await upload(file, signal);
        return await presign(file.name);
      }),
  };
}
