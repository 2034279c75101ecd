import {
  coalesce,
  forEachConcurrent,
  withTimeout,
} from "../../shared/async.ts";
import type { A2CSkillRef } from "../../protocol/mod.ts";
import type { McpConnection } from "../host/mcp/mcp_connection.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import type { SkillServer } from "./fetch_skill.ts";
import { isSkillUri, type SkillRoot, skillRoots } from "./skill_roots.ts";
import { removeStaged, stageSkill, type StagingPlace } from "./stage_skill.ts";

/** How many skills of one MCP server are staged. */
const MAX_SKILLS = 1_000;
const MAX_CONCURRENT_SUBSCRIPTIONS = 16;
/** Limit for all subscriptions; without them only `list_changed` announces changes. */
const SUBSCRIBE_TIMEOUT_MS = 5_000;

/** A skill of the list, as it was staged or failed. */
interface Staged {
  readonly root: SkillRoot;
  readonly ref?: A2CSkillRef;
  readonly problem?: string;
}

/** An MCP server that runs. */
type SkillConnection = SkillServer & { readonly connection: McpConnection };

/**
 * The skills of one MCP server: staged when it starts and when it changes them, and hidden while it
 * does not run (protocol §8.6).
 */
export class ServerSkills {
  readonly #place: Omit<StagingPlace, "isTaken">;
  readonly #changed: () => void;
  #server: SkillConnection | undefined;
  #abort = new AbortController();
  #staged: readonly Staged[] = [];
  /** URIs of what changed since it was read last. */
  readonly #dirty = new Set<string>();
  #work: Promise<void> = Promise.resolve();
  readonly #refresh = coalesce(() => this.#work = this.#restage());
  #subscribed = new Set<string>();

  /** @param changed called when a list or contents differ from what was seen before */
  constructor(place: Omit<StagingPlace, "isTaken">, changed: () => void) {
    this.#place = place;
    this.#changed = changed;
  }

  /** Its skills; none while it does not run. */
  get refs(): A2CSkillRef[] {
    return this.#staged.flatMap(({ ref }) => ref ?? []);
  }

  /** Why some cannot be had, in one sentence each. */
  get problems(): string[] {
    return this.#staged.flatMap(({ problem }) => problem ?? []);
  }

  /** Resolves when what it has listed is staged, or has failed. */
  settled(): Promise<void> {
    return this.#work;
  }

  /** Stages the skills of a new connection: what it had before may have changed meanwhile. */
  started(server: SkillConnection): void {
    if (this.#server?.connection === server.connection) return;
    this.#end();
    this.#server = server;
    if (server.connection.capabilities.resources) this.#refresh();
  }

  /** Hides its skills; their files stay until it is back. */
  ended(): void {
    const had = this.refs.length > 0;
    this.#end();
    if (had) this.#changed();
  }

  /** Lists again, and stages what differs. */
  listChanged(): void {
    if (this.#server) this.#refresh();
  }

  /** Stages a skill again whose contents changed. */
  updated(uri: string): void {
    if (!this.#server || !isSkillUri(uri)) return;
    this.#dirty.add(uri); // its skill may be just being staged
    this.#refresh();
  }

  /** Stops all work; resolves when none is left. */
  async close(): Promise<void> {
    this.#end();
    await this.#work;
  }

  #end(): void {
    this.#server = undefined;
    this.#staged = [];
    this.#dirty.clear();
    this.#subscribed = new Set();
    this.#abort.abort();
    this.#abort = new AbortController();
  }

  async #restage(): Promise<void> {
    const server = this.#server;
    const { signal } = this.#abort;
    const { server: name } = this.#place;
    if (!server) return;
    try {
      const resources = await server.connection.listAllResources({ signal });
      const all = skillRoots(resources);
      const roots = all.slice(0, MAX_SKILLS);
      if (all.length > MAX_SKILLS) {
        log.warn(
          "MCP server {server} has {count} skills; {limit} are offered",
          { server: name, count: all.length, limit: MAX_SKILLS },
        );
      }
      await this.#subscribe(server.connection, roots);
      const staged = await this.#stageAll(roots, server, signal);
      if (this.#server !== server) return;
      const before = this.#staged;
      this.#staged = staged;
      if (!isSame(before, staged)) this.#changed();
      await removeGone(before, staged);
    } catch (error) {
      if (this.#server !== server) return; // it ended meanwhile
      log.warn("Cannot list the skills of {server}: {reason}", {
        server: name,
        reason: reasonOf(error),
      });
    }
  }

  async #stageAll(
    roots: readonly SkillRoot[],
    server: SkillConnection,
    signal: AbortSignal,
  ): Promise<Staged[]> {
    const known = new Map(this.#staged.map((item) => [item.root.uri, item]));
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    const isDirty = ({ uri }: SkillRoot) =>
      dirty.some((each) => each === uri || each.startsWith(`${uri}/`));
    const staged: Staged[] = [];
    const isTaken = (skill: string) =>
      staged.some(({ ref }) => ref?.name.endsWith(`:${skill}`));
    const place = { ...this.#place, isTaken };
    for (const root of roots) {
      const before = known.get(root.uri);
      if (before?.ref && before.root.state === root.state && !isDirty(root)) {
        staged.push(before);
        continue;
      }
      try {
        const ref = await stageSkill(root, server, place, signal);
        staged.push({ root, ref });
      } catch (error) {
        const problem = `Skill ${root.uri} is left out: ${reasonOf(error)}`;
        staged.push({ root, problem });
        if (signal.aborted) continue;
        const properties = { server: place.server, problem };
        log.warn("MCP server {server}: {problem}", properties);
      }
    }
    return staged;
  }

  /** Subscribes to what it lists of skills, before any of it is read, so that no change is missed. */
  async #subscribe(
    connection: McpConnection,
    roots: readonly SkillRoot[],
  ): Promise<void> {
    if (!connection.capabilities.resources?.subscribe) return;
    const wanted = new Set(roots.flatMap(({ uri, files }) => [uri, ...files]));
    const subscribed = this.#subscribed.intersection(wanted);
    this.#subscribed = subscribed;
    const missing = [...wanted.difference(subscribed)];
    const subscribe = (signal: AbortSignal) =>
      forEachConcurrent(missing, MAX_CONCURRENT_SUBSCRIPTIONS, async (uri) => {
        await connection.subscribe(uri, { signal });
        subscribed.add(uri);
      });
    await withTimeout(SUBSCRIBE_TIMEOUT_MS, subscribe).catch((error) =>
      log.info("Cannot subscribe to the skills of {server}: {reason}", {
        server: this.#place.server,
        reason: reasonOf(error),
      })
    );
  }
}

/** Compares what Agents can see; the item itself is another one once it was staged again. */
const isSame = (before: readonly Staged[], after: readonly Staged[]): boolean =>
  before.length === after.length &&
  after.every(({ ref, problem }, index) =>
    ref === before[index]?.ref && problem === before[index]?.problem
  );

/** Removes the files of skills that are listed no more, or under another name. */
async function removeGone(
  before: readonly Staged[],
  after: readonly Staged[],
): Promise<void> {
  const kept = new Set(after.map(({ ref }) => ref?.path));
  for (const { ref } of before) {
    if (ref && !kept.has(ref.path)) await removeStaged(ref.path);
  }
}
