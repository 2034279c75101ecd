/** What hears of the calls of a method. */
export interface Tap {
  /** Called first. */
  readonly enter?: (args: readonly unknown[]) => void;
  /** Called when it has returned; a promise is not waited for. */
  readonly leave?: (args: readonly unknown[]) => void;
  /** Called when the promise that it returned has resolved, before whoever called it. */
  readonly resolve?: (args: readonly unknown[]) => void;
}

/**
 * Listens to a method of a class without changing what it does.
 *
 * @throws {TypeError} when there is no such method: the code that is measured has changed
 */
export function tap(
  prototype: object,
  method: string,
  { enter, leave, resolve }: Tap,
): void {
  const original: unknown = Reflect.get(prototype, method);
  if (typeof original !== "function") {
    throw new TypeError(
      `Cannot listen to ${method}(): ${prototype.constructor.name} has no such method`,
    );
  }
  Reflect.set(prototype, method, function (this: unknown, ...args: unknown[]) {
    enter?.(args);
    const result = Reflect.apply(original, this, args);
    leave?.(args);
    if (resolve && result instanceof Promise) {
      result.then(() => resolve(args), () => {});
    }
    return result;
  });
}

/** When what happened in the course of one call, in µs; of what happens twice the first counts. */
export class Marks {
  readonly #at = new Map<string, number>();

  /** It happens now. */
  mark(name: string): void {
    if (!this.#at.has(name)) this.#at.set(name, performance.now() * 1000);
  }

  /** Everything since the last time, by name. */
  take(): Record<string, number> {
    const marks = Object.fromEntries(this.#at);
    this.#at.clear();
    return marks;
  }
}
