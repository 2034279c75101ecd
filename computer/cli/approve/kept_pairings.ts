/**
 * The Computers for which this program answers, with its keys for each of them, in a file for its user
 * alone. Whoever has the file can say yes.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { whyNotOwn } from "../../../cli/env_file.ts";
import { fromBase64url, toBase64url } from "../../../shared/approvals/bytes.ts";
import type { Pairing } from "../../../shared/approvals/device.ts";
import {
  computerId,
  deviceId,
  publicKeys,
} from "../../../shared/approvals/message.ts";
import {
  exportKeys,
  importKeys,
} from "../../../shared/approvals/saved_keys.ts";
import { replaceFile } from "../../../shared/bytes.ts";
import { withFileLock } from "../../../shared/file_lock.ts";
import { reasonOf } from "../../util/values.ts";

const FORM = 1;
const PRIVATE_FILE = 0o600;

const kept = z.object({
  name: z.string(),
  url: z.string(),
  office: z.string(),
  route: z.string(),
  token: z.string(),
  computer: z.object({ sign: z.string(), seal: z.string() }),
  keys: z.unknown(),
});
type Kept = z.infer<typeof kept>;

const content = z.object({
  version: z.literal(FORM),
  computers: z.array(kept),
});

/** The file of keys of this program. */
export class KeptPairings {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Returns the Computers, in the order in which they were paired.
   *
   * @throws {Error} when the file cannot be used: it names the problem and the fix
   */
  async list(): Promise<Pairing[]> {
    try {
      const all = await this.#read();
      return await Promise.all(all.map(toPairing));
    } catch (error) {
      throw this.#unusable(error);
    }
  }

  /** Adds a Computer; one with the same keys is replaced. */
  async add(pairing: Pairing): Promise<void> {
    const added = await toKept(pairing);
    await this.#change((all) => [
      ...all.filter(({ computer }) => computer.sign !== added.computer.sign),
      added,
    ]);
  }

  /**
   * Removes the Computers of a name.
   *
   * @returns how many there were
   */
  async forget(name: string): Promise<number> {
    let count = 0;
    await this.#change((all) => {
      const left = all.filter((each) => each.name !== name);
      count = all.length - left.length;
      return left;
    });
    return count;
  }

  async #change(change: (all: readonly Kept[]) => Kept[]): Promise<void> {
    const file = this.#file;
    await fs.mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await withFileLock(`${file}.lock`, async () => {
      const all = await this.#read().catch((error) => {
        throw this.#unusable(error);
      });
      const computers = change(all);
      const text = JSON.stringify({ version: FORM, computers }, null, 2);
      await replaceFile(fs, file, `${text}\n`, PRIVATE_FILE);
    });
  }

  async #read(): Promise<Kept[]> {
    const why = whyNotOwn(this.#file);
    if (why !== undefined) throw new Error(why);
    let text: string;
    try {
      text = await fs.readFile(this.#file, "utf8");
    } catch (error) {
      if (Object(error).code === "ENOENT") return [];
      throw error;
    }
    const parsed = content.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data.computers;
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join(".")}: ${issue?.message}`);
  }

  #unusable(error: unknown): Error {
    return new Error(
      `${this.#file}: ${
        reasonOf(error)
      }; repair the file, or move it away and pair again`,
    );
  }
}

async function toKept(
  { self, computer, token, ...where }: Pairing,
): Promise<Kept> {
  const { name, url, office, route } = where;
  return {
    name,
    url,
    office,
    route,
    token: toBase64url(token),
    computer: {
      sign: toBase64url(computer.pub.sign),
      seal: toBase64url(computer.pub.seal),
    },
    keys: await exportKeys(self.keys),
  };
}

async function toPairing(
  { computer, keys, token, ...where }: Kept,
  at: number,
): Promise<Pairing> {
  const { name, url, office, route } = where;
  const pub = {
    sign: fromBase64url(computer.sign),
    seal: fromBase64url(computer.seal),
  };
  const id = await computerId(pub);
  const own = await importKeys(keys, `computers.${at}.keys`);
  const ownPub = await publicKeys(own);
  return {
    name,
    url,
    office,
    route,
    token: fromBase64url(token),
    computer: { id, pub },
    self: { id: await deviceId(ownPub, id), keys: own, pub: ownPub },
  };
}
