/**
 * Local substitute for `jsr:@std/assert`: the npm port of the same code. The port ships no
 * types, so each re-export declares its signature; without them assertions do not narrow.
 */
import * as port from "npm:deno-std@1.4.0/assert/mod.js";

// deno-lint-ignore no-explicit-any -- the signature of a constructor of anything
type Class<T> = abstract new (...args: any[]) => T;
type Thrower<R> = {
  (
    fn: () => R,
    msg?: string,
  ): R extends PromiseLike<unknown> ? Promise<unknown> : unknown;
  <E extends Error>(
    fn: () => R,
    errorClass: Class<E>,
    msgIncludes?: string,
    msg?: string,
  ): R extends PromiseLike<unknown> ? Promise<E> : E;
};

export const AssertionError: new (message: string) => Error =
  port.AssertionError;
export const assert: (expr: unknown, msg?: string) => asserts expr =
  port.assert;
export const assertAlmostEquals: (
  actual: number,
  expected: number,
  tolerance?: number,
  msg?: string,
) => void = port.assertAlmostEquals;
export const assertArrayIncludes: <T>(
  actual: ArrayLike<T>,
  expected: ArrayLike<T>,
  msg?: string,
) => void = port.assertArrayIncludes;
export const assertEquals: <T>(actual: T, expected: T, msg?: string) => void =
  port.assertEquals;
export const assertExists: <T>(
  actual: T,
  msg?: string,
) => asserts actual is NonNullable<T> = port.assertExists;
export const assertFalse: (expr: unknown, msg?: string) => void =
  port.assertFalse;
export const assertGreater: <T>(actual: T, expected: T, msg?: string) => void =
  port.assertGreater;
export const assertGreaterOrEqual: <T>(
  actual: T,
  expected: T,
  msg?: string,
) => void = port.assertGreaterOrEqual;
export const assertInstanceOf: <T>(
  actual: unknown,
  expected: Class<T>,
  msg?: string,
) => asserts actual is T = port.assertInstanceOf;
export const assertLess: <T>(actual: T, expected: T, msg?: string) => void =
  port.assertLess;
export const assertLessOrEqual: <T>(
  actual: T,
  expected: T,
  msg?: string,
) => void = port.assertLessOrEqual;
export const assertMatch: (
  actual: string,
  expected: RegExp,
  msg?: string,
) => void = port.assertMatch;
export const assertNotEquals: <T>(
  actual: T,
  expected: T,
  msg?: string,
) => void = port.assertNotEquals;
export const assertNotMatch: (
  actual: string,
  expected: RegExp,
  msg?: string,
) => void = port.assertNotMatch;
export const assertNotStrictEquals: <T>(
  actual: T,
  expected: T,
  msg?: string,
) => void = port.assertNotStrictEquals;
export const assertObjectMatch: (
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
) => void = port.assertObjectMatch;
export const assertRejects: Thrower<PromiseLike<unknown>> = port.assertRejects;
export const assertStrictEquals: <T>(
  actual: unknown,
  expected: T,
  msg?: string,
) => asserts actual is T = port.assertStrictEquals;
export const assertStringIncludes: (
  actual: string,
  expected: string,
  msg?: string,
) => void = port.assertStringIncludes;
export const assertThrows: Thrower<unknown> = port.assertThrows;
export const fail: (msg?: string) => never = port.fail;
export const unreachable: (reason?: string) => never = port.unreachable;
