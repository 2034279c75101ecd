/**
 * The room for views of an office, of which each has a table of tools of its own.
 *
 * The view that was unused longest gives way to a new one. Views that the choices of sign-ins need have a room
 * beside that of the others, of which a principal has a part: its sign-ins take no views from others.
 *
 * @module
 */
import type { HttpView } from "./http_view.ts";
import { UseTable } from "./use_table.ts";
import type { OfficeView } from "../office/office_view.ts";

/** The most views at once, and the most tools of all of them. */
export const MAX_VIEWS = 100;
export const MAX_TOOLS = 100_000;

/** One view of an office, and how many requests of it are not answered to their end. */
export interface OpenView {
  readonly view: OfficeView;
  readonly http: HttpView;
  /** By whom it was needed first. */
  readonly principal: string | undefined;
  open: number;
}

/** What decides about a view. */
export interface HeldView {
  readonly principal: string | undefined;
  readonly tools: number;
  readonly isIdle: boolean;
}

/** What is to be done for a new view: nothing, drop one, or refuse it. */
export type RoomDecision = "free" | "full" | { readonly drop: number };

/**
 * Decides whether a principal gets another view, and which one gives way to it.
 *
 * @param held the views, of which those used longest ago come first
 * @param parts into how many the room is divided: a principal has one of them
 */
export function decideRoom(
  held: readonly HeldView[],
  principal: string | undefined,
  parts: number,
): RoomDecision {
  const own = held.filter((each) => each.principal === principal);
  if (isOver(own, parts)) return idleOf(held, (each) => own.includes(each));
  if (!isOver(held, 1)) return "free";
  // Who has most gives way first.
  const counts = new Map<HeldView["principal"], number>();
  for (const each of held) {
    counts.set(each.principal, (counts.get(each.principal) ?? 0) + 1);
  }
  const idle = held.filter(({ isIdle }) => isIdle);
  const most = Math.max(...idle.map((each) => counts.get(each.principal) ?? 0));
  return idleOf(held, (each) => counts.get(each.principal) === most);
}

const isOver = (views: readonly HeldView[], parts: number): boolean =>
  views.length >= MAX_VIEWS / parts ||
  views.reduce((sum, { tools }) => sum + tools, 0) > MAX_TOOLS / parts;

function idleOf(
  held: readonly HeldView[],
  mayGo: (view: HeldView) => boolean,
): RoomDecision {
  const drop = held.findIndex((each) => each.isIdle && mayGo(each));
  return drop < 0 ? "full" : { drop };
}

/** The views of an office that share a room. */
export class ViewRoom {
  /** By key. */
  readonly #views = new UseTable<OpenView>();
  readonly #parts: number;

  /** @param parts into how many it is divided, of which a principal has one */
  constructor(parts: number) {
    this.#parts = parts;
  }

  /** All of them. */
  get all(): OpenView[] {
    return this.#views.all.map(([, view]) => view);
  }

  /**
   * Finds a view, or makes it where it is new.
   *
   * @returns `undefined` when there is no room for another one
   * @throws what `make` throws
   */
  find(
    key: string,
    principal: string | undefined,
    make: () => Pick<OpenView, "view" | "http">,
  ): OpenView | undefined {
    const known = this.#views.use(key);
    if (known !== undefined) return known;
    const views = this.#views.all;
    const held = views.map(([, { view, http, open, principal }]) => ({
      principal,
      tools: view.catalogue.tools.length,
      isIdle: open === 0 && !http.hasSessions,
    }));
    const decision = decideRoom(held, principal, this.#parts);
    if (decision === "full") return undefined;
    const made = { ...make(), principal, open: 0 };
    const [dropped, old] = decision === "free"
      ? []
      : views[decision.drop] ?? [];
    if (dropped !== undefined) this.#views.delete(dropped);
    if (old !== undefined) void closeView(old);
    this.#views.set(key, made);
    return made;
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(closeView));
  }
}

async function closeView({ view, http }: OpenView): Promise<void> {
  await http.close();
  view.close();
}
