/**
 * The Server of `smcp up`: for one person and this machine's Computer.
 *
 * A tunnel or proxy dials the loopback address as programs of this machine do. So with a public URL, or
 * with a sign-in, no address is exempt: all that leads to tools takes a key, which is made once.
 *
 * @module
 */
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import type { ClusterSettings } from "../../cli/cluster_flags.ts";
import { fileErrorCode, unwritable } from "../../cli/explain_failure.ts";
import { orUsageError, UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import { replaceFile } from "../../shared/bytes.ts";
import { withFileLock } from "../../shared/file_lock.ts";
import {
  type ApiKey,
  apiKeys,
  newApiKey,
  parseApiKeys,
} from "../auth/api_keys.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Limits } from "../limits/limits.ts";
import { createSmcpServer, type SmcpServer } from "../mod.ts";
import type { SmcpServerOptions } from "../options.ts";
import { loadCluster, type LoadMcp } from "./serve.ts";
import { loadApprovals } from "./approvals_flags.ts";
import { checkSignIn, loadSignIn } from "./sign_in_flags.ts";

/** What `up` asks for. */
export interface UpSettings {
  /** Whether MCP is served. */
  readonly mcp: boolean;
  /** Whether people sign in to it. */
  readonly signIn: boolean;
  /** Whether persons answer the questions of this machine's Computer from devices. */
  readonly approvals?: boolean;
  /** The token of its operators; false without operators. */
  readonly operator: false | { readonly token: string };
  /** The office of its Computer. */
  readonly office: string;
  /** The port that it will listen on, or 0. */
  readonly port: number;
  /** The URL by which clients reach it, other than that of its port. */
  readonly publicUrl: string | undefined;
  readonly clustering: ClusterSettings | undefined;
  /** The folder that keeps the key and the sign-ins. */
  readonly folder: string;
}

/** The key of `up`. */
export interface UpKey {
  /** The file with its hash. */
  readonly file: string;
  /** The key itself, once: where it was made now. */
  readonly text?: string;
}

/** The Server of `up`, with the key that its clients need, if they need one. */
export interface UpServer extends Pick<SmcpServer, "listen" | "connect"> {
  readonly key?: UpKey;
  close(): Promise<void>;
}

/**
 * Makes the Server of `up`, and the key with it where there is none.
 *
 * @throws {UsageError} for settings that cannot be used together
 * @throws {Error} where the key or the sign-ins cannot be kept
 */
export async function serverOfUp(
  settings: UpSettings,
  loadMcp: LoadMcp,
): Promise<UpServer> {
  const { mcp, signIn, operator, publicUrl, clustering, folder } = settings;
  if (signIn && clustering) {
    throw new UsageError(
      "--sign-in of `up` is for one person and one Server: with --cluster, use smcp-server --sign-in",
    );
  }
  checkSignIn({
    signIn,
    host: "127.0.0.1",
    apiKeys: "key.json",
    hasJwt: false,
    isClustered: clustering !== undefined,
    ...(publicUrl !== undefined && { publicUrl }),
  });
  const lock = signIn || publicUrl !== undefined
    ? await keyIn(join(folder, "key.json"))
    : undefined;
  const signInFile = signInFileOf(settings);
  const options: SmcpServerOptions = {
    protocol: "all",
    operator,
    limits: limitsOfUp(publicUrl, clustering),
    ...(publicUrl !== undefined && behindProxy(publicUrl)),
    ...(lock && { authenticator: lock.authenticator }),
    ...(mcp && { gateway: (await loadMcp())({}) }),
    ...(signIn && await loadSignIn({
      signIn,
      ...(signInFile !== undefined && { signInFile }),
    }, STATE_VARIABLE)),
    ...await loadApprovals(settings),
    ...await loadCluster(clustering),
  };
  const server = orUsageError(() => createSmcpServer(options));
  return {
    listen: (address) => server.listen(address),
    connect: (options) => server.connect(options),
    close: () => server.close(),
    ...(lock && { key: lock.key }),
  };
}

/**
 * Returns the options for a public URL: who comes by it comes by a proxy on this machine, which alone knows the
 * addresses. Without them one stranger would use up what all clients have together.
 */
const behindProxy = (publicUrl: string) => ({
  publicUrl,
  trustedProxies: 1,
  // A trusted proxy would let in any name.
  hosts: [new URL(publicUrl).hostname],
});

/**
 * Returns the limits, for the loopback address: without a public URL and a cluster all events are of this
 * machine's user, who may send as many as he likes.
 */
export const limitsOfUp = (
  publicUrl: string | undefined,
  clustering: ClusterSettings | undefined,
): Partial<Limits> =>
  publicUrl === undefined && clustering === undefined
    ? { eventsPerSecond: Infinity }
    : {};

/** The variable by which a person chooses the folder. */
const STATE_VARIABLE = "XDG_STATE_HOME";

/**
 * Returns the file of the sign-ins at one address and office: those of another are apart, since each would take
 * the other's tokens. A free port is another one at each start, and no program finds its sign-in again there.
 */
function signInFileOf(
  { office, port, publicUrl, folder }: UpSettings,
): string | undefined {
  const address = publicUrl ?? port;
  if (address === 0) return undefined;
  const name = createHash("sha256").update(`${address} ${office}`)
    .digest("hex").slice(0, 16);
  return join(folder, `sign_ins_${name}.sqlite`);
}

/** Reads the key of a file, or makes it; a Computer may join with it, too. */
async function keyIn(
  file: string,
): Promise<{ readonly key: UpKey; readonly authenticator: Authenticator }> {
  const folder = join(file, "..");
  try {
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    return await withFileLock(`${file}.lock`, async () => {
      const known = await readKeys(file);
      if (known !== undefined) {
        return { key: { file }, authenticator: apiKeys(known) };
      }
      const roles = ["agent", "computer"] as const;
      const { text, entry } = newApiKey({ id: "up", roles });
      const list = `${JSON.stringify([entry], null, 2)}\n`;
      await replaceFile(fs, file, list, 0o600);
      return { key: { file, text }, authenticator: apiKeys([entry]) };
    });
  } catch (error) {
    throw unwritable(error, plain(file), STATE_VARIABLE);
  }
}

/** @returns `undefined` where there is no such file */
async function readKeys(file: string): Promise<ApiKey[] | undefined> {
  let text: string;
  try {
    text = await fs.readFile(file, "utf8");
  } catch (error) {
    if (fileErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const keys = parseApiKeys(text);
    if (keys.length > 0) return keys;
  } catch {
    // Explained below, as an empty list.
  }
  throw new UsageError(
    `${
      plain(file)
    } has no key that can be used: delete it, and a new one is made`,
  );
}
