import { type Contestant, CONTESTANTS } from "./mod.ts";
import { type Recipe, type Running, start } from "./running.ts";

/** The contestants of this machine; each is prepared once, on first use. */
export class Field {
  readonly #folder: string;
  readonly #contestants: Readonly<Record<string, Contestant>>;
  readonly #recipes = new Map<string, Recipe>();
  /** Reasons why contestants could not be measured, by name. */
  readonly absent: Map<string, string> = new Map();

  /** @param folder a folder for temporary files */
  constructor(folder: string, contestants = CONTESTANTS) {
    this.#folder = folder;
    this.#contestants = contestants;
  }

  /**
   * Starts a contestant.
   *
   * @param args additional arguments
   * @returns `undefined` when this machine cannot run it; `absent` has the reason
   */
  async start(
    name: string,
    args: readonly string[] = [],
  ): Promise<Running | undefined> {
    const recipe = await this.#recipe(name);
    return recipe &&
      await start(
        { ...recipe, args: [...recipe.args, ...args] },
        this.#folder,
      );
  }

  async #recipe(name: string): Promise<Recipe | undefined> {
    const known = this.#recipes.get(name);
    if (known || this.absent.has(name)) return known;
    try {
      const recipe = await contestantOf(name, this.#contestants).prepare(
        this.#folder,
      );
      this.#recipes.set(name, recipe);
      // A first run that does not count, for compilations and downloads.
      await using _server = await start(recipe, this.#folder);
      return recipe;
    } catch (error) {
      this.#recipes.delete(name);
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`${name} cannot be measured: ${reason}`);
      this.absent.set(name, reason.split("\n")[0] ?? "");
      return undefined;
    }
  }
}

/** @throws {RangeError} for an unknown name */
export function contestantOf(
  name: string,
  contestants = CONTESTANTS,
): Contestant {
  const contestant = contestants[name];
  if (contestant) return contestant;
  throw new RangeError(
    `Unknown contestant "${name}", expected one of ${
      Object.keys(contestants).join(", ")
    }`,
  );
}
