import { CONTESTANTS } from "./mod.ts";
import { type Recipe, type Running, start } from "./running.ts";

/** The contestants of this machine; each is made ready once, when it is first wanted. */
export class Field {
  readonly #folder: string;
  readonly #recipes = new Map<string, Recipe>();
  /** Why a contestant could not be measured, by its name. */
  readonly absent: Map<string, string> = new Map();

  /** @param folder for what is needed no longer than this process */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Starts a contestant.
   *
   * @param args added to those of its recipe
   * @returns nothing when this machine can not run it; `absent` says why
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
      const recipe = await contestantOf(name).prepare(this.#folder);
      this.#recipes.set(name, recipe);
      // One run that counts for nothing: what is compiled or downloaded once is so now.
      await using _server = await start(recipe, this.#folder);
      return recipe;
    } catch (error) {
      this.#recipes.delete(name);
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`${name} can not be measured: ${reason}`);
      this.absent.set(name, reason.split("\n")[0] ?? "");
      return undefined;
    }
  }
}

/** @throws {RangeError} when there is none of that name */
export function contestantOf(name: string) {
  const contestant = CONTESTANTS[name];
  if (contestant) return contestant;
  throw new RangeError(
    `Unknown contestant "${name}", expected one of ${
      Object.keys(CONTESTANTS).join(", ")
    }`,
  );
}
