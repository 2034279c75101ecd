import type { Buffer } from "node:buffer";
import { log } from "../../shared/log.ts";
import { channelOf, type LinkRedis } from "./channel.ts";
import { FramePool } from "./frame_pool.ts";
import type { Peer } from "./peer.ts";

/** What became of frames. */
export interface PublisherPort {
  /** Nobody received a frame. */
  nobody(peer: Peer): void;
  /** A frame of a link did not reach its node, so that the link cannot go on. */
  missed(peer: Peer): void;
}

/** Sends frames to the channels of other nodes. */
export class Publisher {
  readonly #redis: LinkRedis;
  readonly #port: PublisherPort;
  readonly #pool: FramePool;
  #hasWarned = false;

  constructor(redis: LinkRedis, pieceBytes: number, port: PublisherPort) {
    this.#pool = new FramePool(pieceBytes);
    this.#redis = redis;
    this.#port = port;
  }

  /** There is a new connection: what it refuses is told again. */
  renew(): void {
    this.#hasWarned = false;
  }

  /** Returns memory for a frame that will be sent. */
  readonly allocate = (length: number): Buffer => this.#pool.take(length);

  /** Takes the memory of a frame back. */
  readonly free = (frame: Buffer): void => this.#pool.give(frame);

  /** Sends a frame. */
  send(peer: Peer, frame: Buffer): void {
    const { name } = peer.link;
    peer.published = this.#redis.publish(channelOf(peer.node), frame).then(
      (receivers) => {
        if (receivers > 0) return peer.watch.present();
        this.#port.nobody(peer);
        this.#missed(peer, name);
      },
      (error) => {
        this.#warn(error);
        this.#missed(peer, name);
      },
    );
  }

  /** A greeting, which has no link yet, is repeated anyway. */
  #missed(peer: Peer, name: number | undefined): void {
    if (name !== undefined && name === peer.link.name) this.#port.missed(peer);
  }

  /** Tells once for each connection: what Redis refuses, it refuses each time. */
  #warn(error: unknown): void {
    if (this.#hasWarned || !this.#redis.connected) return;
    this.#hasWarned = true;
    log.warn("Cannot send to the other nodes through Redis: {reason}", {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}
