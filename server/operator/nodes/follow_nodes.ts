import { sleep } from "../../../shared/async.ts";
import type { FollowOthers, OtherEvents } from "../feed/event_feed.ts";
import type { OtherOperators } from "./other_operators.ts";

/** How often to look for nodes that are new, and how long to wait for one that did not answer. */
const LOOK_MS = 1000;

/** Follows what happens on the other nodes, those that join later too. */
export const followNodes =
  (others: Pick<OtherOperators, "nodes" | "ask">): FollowOthers => (events) => {
    const ended = new AbortController();
    const followed = new Set<string>();
    const look = () => {
      for (const node of others.nodes) {
        if (followed.has(node)) continue;
        followed.add(node);
        void followNode(node, others, events, ended.signal)
          .finally(() => followed.delete(node));
      }
    };
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  };

/** Asks a node for its events until it goes, or `signal` is aborted. */
async function followNode(
  node: string,
  others: Pick<OtherOperators, "nodes" | "ask">,
  events: OtherEvents,
  signal: AbortSignal,
): Promise<void> {
  let cursor: string | undefined;
  while (others.nodes.has(node)) {
    const answer = await others.ask(node, "events", {
      ...(cursor !== undefined && { cursor }),
    });
    if (signal.aborted) return;
    if (answer === undefined) {
      // Whatever is asked again, what happened meanwhile may be gone with its node.
      if (cursor !== undefined) events.missed(node);
      cursor = undefined;
      await sleep(LOOK_MS, signal).catch(() => {});
      if (signal.aborted) return;
      continue;
    }
    if (answer.missed) events.missed(node);
    cursor = answer.cursor;
    events.add(
      node,
      answer.events.map(({ office, ...event }) => ({ ...event, office })),
    );
  }
  if (cursor !== undefined && !signal.aborted) events.missed(node);
}
