/** Callbacks for the calls of a method. */
export interface Tap {
  /** Called first. */
  readonly enter?: (args: readonly unknown[]) => void;
  /** Called after it has returned, without waiting for a promise. */
  readonly leave?: (args: readonly unknown[]) => void;
  /** Called when its promise has resolved, before the caller continues. */
  readonly resolve?: (args: readonly unknown[]) => void;
}

/**
 * Observes a method of a class without changing its behavior.
 *
 * @throws {TypeError} when the method does not exist, since the measured code has changed
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

/** Times of the named points of a call, in µs; for a repeated point the first counts. */
export class Marks {
  readonly #at = new Map<string, number>();

  /** Records a point now. */
  mark(name: string): void {
    if (!this.#at.has(name)) this.#at.set(name, performance.now() * 1000);
  }

  /** Returns and clears all points, by name. */
  take(): Record<string, number> {
    const marks = Object.fromEntries(this.#at);
    this.#at.clear();
    return marks;
  }
}
