/**
 * The skills of a Computer (protocol §8.6).
 *
 * Those of its user are folders that are used in place (`user_skills.ts`). Those of MCP servers are
 * staged into a folder of their own when their server starts (`server_skills.ts`, `stage_skill.ts`).
 * A file is given out through `sandbox.ts` alone.
 *
 * @module
 */
import { join } from "node:path";
import { type A2CSkillRef, ProtocolError } from "../../protocol/mod.ts";
import {
  blobNotAccessible,
  invalidSkillName,
  skillNotFound,
} from "../../protocol/errors.ts";
import { bundleIdOf, type ServerConfig } from "../config/config.ts";
import type { McpHost } from "../host/host.ts";
import { WarnOnce } from "../util/log.ts";
import { openSkillFile, type SkillFile } from "./skill_file.ts";
import { ServerSkills } from "./server_skills.ts";
import { removeUnfinished, Replacing } from "./stage_skill.ts";
import {
  findUserSkills,
  folderProblem,
  type FoundSkills,
  watchFolder,
} from "./user_skills.ts";
import type { ResolveBlob } from "../blobs/blobs.ts";
import type { BlobSource } from "../blobs/store.ts";
import { SkillFault } from "./sandbox.ts";
import { isSkillName } from "./skill_entry.ts";

/** Changes within this time are announced once (protocol §8.6). */
const MERGE_MS = 300;

/** The dependencies of {@linkcode Skills}. */
interface SkillsOptions {
  /** The folder of skills; without one there are none. */
  readonly home: string | undefined;
  /** The MCP servers. */
  readonly host: McpHost;
  /** Called when skills came, went or changed, once for each burst. */
  readonly changed: () => void;
}

/** The skills of a Computer: those of its user, and those that MCP servers bring (protocol §8.6). */
export class Skills {
  readonly #options: SkillsOptions;
  /** The folder; none without one, or without permission to read it. */
  #home: string | undefined;
  /** By `bundle_id`. */
  readonly #servers = new Map<string, ServerSkills>();
  readonly #replacing = new Replacing();
  readonly #warnOnce = new WarnOnce();
  #user: FoundSkills = { refs: [], problems: [] };
  #scans = 0;
  /** The last scan that has ended. */
  #scanned = 0;
  readonly #running = new Set<Promise<unknown>>();
  #watch: Disposable | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #started = false;
  #closed = false;

  constructor(options: SkillsOptions) {
    this.#options = options;
    const { home, host } = options;
    this.#home = home;
    if (home === undefined) return;
    host.on("serverState", ({ bundleId }) => this.#onState(bundleId));
    host.on("configChanged", () => this.#forgetRemoved());
    const find = (server: string) => this.#servers.get(server);
    host.on("resourcesChanged", ({ server }) => find(server)?.listChanged());
    host.on("resourceUpdated", ({ server, uri }) => find(server)?.updated(uri));
  }

  /** The skills that are known, without a look at the disk. */
  get known(): A2CSkillRef[] {
    return this.#sources().flatMap(({ refs }) => refs);
  }

  /** Why others are left out, in one sentence each. */
  get problems(): string[] {
    return this.#sources().flatMap(({ problems }) => problems);
  }

  /**
   * Begins to watch the folder of the user's skills; they are known when it resolves.
   *
   * Never rejects: without permission to read the folder there are no skills, and one warning.
   */
  async start(): Promise<void> {
    const home = this.#home;
    if (home === undefined || this.#started) return;
    this.#started = true;
    const refusal = await this.#track(folderProblem(userFolder(home)));
    if (this.#closed) return;
    if (refusal !== undefined) {
      this.#home = undefined;
      this.#user = { refs: [], problems: [refusal] };
      return this.#warnOnce.warn(this.#user.problems);
    }
    this.#watch = watchFolder(userFolder(home), () => this.#soon());
    await Promise.all([
      this.#scan(),
      this.#track(removeUnfinished(mcpFolder(home))),
    ]);
    if (this.#user.refs.length > 0) this.#soon();
  }

  /** Resolves when the skills of all MCP servers that run are staged, or have failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((s) => s.settled()));
  }

  /** Lists the skills, as they are now (protocol §8.6). */
  async list(): Promise<A2CSkillRef[]> {
    await this.#scan();
    return this.known;
  }

  /**
   * Opens a file of a skill (protocol §8.6).
   *
   * @param path the path in its folder, as requested
   * @throws {ProtocolError} 4016 for what cannot be a name, 4014 for one of no skill
   * @throws {SkillFault} why the file is not given out
   */
  async open(name: string, path: string | undefined): Promise<SkillFile> {
    if (!isSkillName(name)) throw invalidSkillName(name);
    const find = () => this.known.find((ref) => ref.name === name);
    const ref = find() ?? (await this.#scan(), find());
    if (!ref || this.#closed) throw skillNotFound(name);
    const ended = Promise.withResolvers<void>();
    void this.#track(ended.promise);
    try {
      const file = await this.#replacing.read(() =>
        openSkillFile(ref.path, path)
      );
      return { ...file, close: () => file.close().finally(ended.resolve) };
    } catch (error) {
      ended.resolve();
      throw error;
    }
  }

  /** Stops watching and staging, and waits for open files; staged ones stay. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#watch?.[Symbol.dispose]();
    await Promise.all([
      ...[...this.#servers.values()].map((server) => server.close()),
      ...this.#running,
    ]);
  }

  /** Lets `close` wait for work, which never rejects. */
  async #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const result = await work;
    this.#running.delete(work);
    return result;
  }

  /** Announces a change, with all that follow shortly. */
  #soon(): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(async () => {
      this.#timer = undefined;
      await this.#scan();
      if (!this.#closed) this.#options.changed();
    }, MERGE_MS);
  }

  async #scan(): Promise<void> {
    if (this.#home === undefined || this.#closed) return;
    const scan = ++this.#scans;
    const found = await this.#track(findUserSkills(userFolder(this.#home)));
    if (scan < this.#scanned) return; // a later one has ended
    this.#scanned = scan;
    this.#user = found;
    this.#warnOnce.warn(found.problems);
  }

  #onState(bundleId: string): void {
    const home = this.#home;
    const server = this.#options.host.server(bundleId);
    if (home === undefined || !server || this.#closed) return;
    const { connection, config } = server;
    const known = this.#servers.get(bundleId);
    if (!connection) return known?.ended();
    const replacing = this.#replacing;
    const place = { folder: mcpFolder(home), server: bundleId, replacing };
    const skills = known ?? new ServerSkills(place, () => this.#soon());
    this.#servers.set(bundleId, skills);
    skills.started({ connection, isLocal: isLocal(config) });
  }

  #forgetRemoved(): void {
    for (const [bundleId, skills] of this.#servers) {
      if (this.#options.host.server(bundleId)) continue;
      this.#servers.delete(bundleId);
      skills.ended();
      void this.#track(skills.close());
    }
  }

  /** The user's, then those of MCP servers, in the order of the configuration. */
  #sources(): FoundSkills[] {
    const servers = this.#options.host.configs.flatMap((config) =>
      this.#servers.get(bundleIdOf(config)) ?? []
    );
    return [this.#user, ...servers];
  }
}

const mcpFolder = (home: string): string => join(home, "mcp");

const userFolder = (home: string): string => join(home, "user");

/** Returns whether folders of an MCP server are folders of this machine. */
function isLocal(config: ServerConfig): boolean {
  if (config.type === "in-process" || config.type === "stdio") return true;
  const { url } = config.server_parameters;
  if (!URL.canParse(url)) return false; // it has a placeholder
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** The kind of the handles of files of skills. */
export const SKILL_KIND = "skill";

/**
 * Resolves handles of files of skills: registry and sandbox decide each time again (protocol §8.7).
 *
 * Each part is read from a file that is opened for it; an Agent may never ask for the last one.
 */
export const skillBlobs =
  (skills: Pick<Skills, "open">): ResolveBlob =>
  async ({ name, path }): Promise<BlobSource> => {
    if (typeof name !== "string" || typeof path !== "string") {
      throw blobNotAccessible("invalid_handle");
    }
    const withFile = async <T>(
      work: (file: SkillFile) => Promise<T>,
    ): Promise<T> => {
      const file = await skills.open(name, path).catch((error) => {
        const isFault = error instanceof SkillFault;
        if (!isFault && !(error instanceof ProtocolError)) throw error;
        const isOut = isFault && error.reason !== "not_found";
        throw blobNotAccessible(isOut ? "forbidden" : "gone");
      });
      try {
        return await work(file);
      } finally {
        await file.close();
      }
    };
    return await withFile(async (file) => ({
      mimeType: file.mimeType,
      size: file.totalSize,
      sha256: await file.sha256(),
      read: (offset, length) => withFile((file) => file.read(offset, length)),
    }));
  };
