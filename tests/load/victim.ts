import { assert, assertEquals } from "@std/assert";
import {
  type ServerCommand,
  startServerCommand,
} from "../support/server/server_command.ts";
import { LeanClient } from "./lean_client.ts";

/** Memory of a server at one moment, in bytes. */
export interface Memory {
  rss: number;
  heap: number;
}

/** A real server process under load, and what can be seen of it from outside. */
export class Victim implements AsyncDisposable {
  readonly #command: ServerCommand;
  readonly #metrics: string;

  private constructor(command: ServerCommand, metrics: string) {
    this.#command = command;
    this.#metrics = metrics;
  }

  /** Starts the command; only errors are logged, so that a log line is a finding. */
  static async start(...args: string[]): Promise<Victim> {
    const command = await startServerCommand(
      ["--port=0", "--metrics-port=0", "--log-level=error", ...args],
      {},
      ["--inspect=127.0.0.1:0"],
    );
    const [, metrics] = /metrics (\S+)\)/.exec(command.line) ?? [];
    assert(metrics, `The server did not start: ${command.log}`);
    return new Victim(command, metrics);
  }

  /** The URL for clients. */
  get url(): string {
    return this.#command.url;
  }

  /** Connections, offices and members. */
  async counts() {
    const response = await fetch(`${this.url}/health`);
    const { connections, offices, members } = await response.json();
    return { connections, offices, members };
  }

  /** A sample of the server's metrics. */
  async sample(name: string): Promise<number> {
    const text = await (await fetch(this.#metrics)).text();
    const line = text.split("\n").find((l) => l.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1) ?? 0);
  }

  /** Returns its memory after a garbage collection. */
  async memory(): Promise<Memory> {
    const [, inspector = ""] = /(ws:\S+)/.exec(this.#command.log) ?? [];
    const { usedSize } = await collectGarbage(inspector);
    const rss = await this.sample("process_resident_memory_bytes");
    return { rss, heap: usedSize };
  }

  /** Resolves when no member is left; fails when one stays. */
  async empty(): Promise<void> {
    const none = { connections: 0, offices: 0, members: 0 };
    for (let i = 0; i < 600; i++) {
      if ((await this.counts()).connections === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assertEquals(await this.counts(), none, "somebody is left over");
  }

  /** No seat of these offices is held by a ghost: an agent gets in, and is alone there. */
  async noGhosts(offices: readonly string[]): Promise<void> {
    for (const office_id of offices) {
      const agent = await LeanClient.connect(this.url);
      assert(await agent.join("agent", "ghostbuster", office_id), office_id);
      const answer = await agent.ask("server:list_room", {
        agent: "ghostbuster",
        req_id: "1",
        office_id,
      });
      const [{ sessions }] = JSON.parse(answer ?? "[{}]");
      assertEquals(sessions.length, 1, `ghosts in ${office_id}: ${answer}`);
      await agent.close();
    }
    await this.empty();
  }

  /** It lives, and nothing in it failed: no error, no rejection, no exception. */
  async healthy(): Promise<void> {
    const response = await fetch(`${this.url}/ready`);
    assertEquals(await response.json(), { status: "ready" });
    const log = this.#command.log.replaceAll(/^(Debugger|Visit) .*\n/gm, "");
    assertEquals(log, "");
  }

  /** Kills it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#command[Symbol.asyncDispose]();
  }
}

/** Has a process collect its garbage, by its debugger; gives what is left on its heap. */
async function collectGarbage(
  inspector: string,
): Promise<{ usedSize: number }> {
  const socket = new WebSocket(inspector);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`No debugger at ${inspector}`));
  });
  const ask = (method: string) =>
    new Promise<{ usedSize: number }>((resolve) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(data).result);
      socket.send(JSON.stringify({ id: 1, method }));
    });
  await ask("HeapProfiler.collectGarbage");
  const usage = await ask("Runtime.getHeapUsage");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await closed;
  return usage;
}

/** Runs `count` jobs, so many at a time. */
export async function pool<T>(
  count: number,
  width: number,
  job: (index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < count) {
      const index = next++;
      results[index] = await job(index);
    }
  }));
  return results;
}

export const MIB = 2 ** 20;
