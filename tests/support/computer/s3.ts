import { start } from "../child.ts";
import { S3_SERVER } from "./reference_servers.ts";

/** An object storage with the S3 protocol, in a separate process. */
export interface S3Server extends AsyncDisposable {
  /** Its address. */
  readonly endpoint: string;
  /** An existing, empty bucket. */
  readonly bucket: string;
  /** The credentials that it accepts. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const PROGRAM = `
import S3rver from "${S3_SERVER}";
const [directory, bucket] = Deno.args;
const server = new S3rver({
  directory,
  address: "127.0.0.1",
  port: 0,
  silent: true,
  vhostBuckets: false,
  configureBuckets: [{ name: bucket, configs: [] }],
});
const { port } = await server.run();
console.log("listening on http://127.0.0.1:" + port);
`;

/** Starts it on a free port; its files are deleted at the end. */
export async function startS3(): Promise<S3Server> {
  const directory = await Deno.makeTempDir({ prefix: "a2c-s3-" });
  const bucket = "documents";
  const child = start(Deno.execPath(), [
    "eval",
    "--quiet",
    "--cached-only",
    "--no-config",
    "--no-lock",
    PROGRAM,
    "--",
    directory,
    bucket,
  ], { cwd: directory });
  const stop = async () => {
    await child.stop();
    await Deno.remove(directory, { recursive: true });
  };
  try {
    const [, endpoint = ""] = await child.line(/listening on (\S+)/);
    return {
      endpoint,
      bucket,
      accessKeyId: "S3RVER",
      secretAccessKey: "S3RVER",
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
