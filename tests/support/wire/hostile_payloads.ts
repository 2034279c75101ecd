/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const ODD: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 0,
  () => 1.5,
  () => 1e308,
  () => "",
  () => "3",
  () => "\u0000",
  () => "\ud800",
  () => "x".repeat(100_000),
  () => [],
  () => [[]],
  () => [null, {}],
  () => ({}),
  () => ({ length: -1 }),
  () => ({ toString: null, valueOf: null, toJSON: 1, then: "x" }),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":null}'),
  () => JSON.parse('{"constructor":{"prototype":{"polluted":true}}}'),
  () => new Uint8Array(3),
  () => Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i])),
  () => nested(40),
];

/** `count` payloads that are wrong somewhere: odd values, or `valid` with fields made odd, missing or added. */
export function hostilePayloads(
  valid: Readonly<Record<string, unknown>>,
  count: number,
  seed: number,
): unknown[] {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T =>
    list[Math.floor(random() * list.length)] as T;
  const odd = () => pick(ODD)();
  const keys = [...Object.keys(valid), "__proto__", "constructor", "toString"];
  return Array.from({ length: count }, (_, i) => {
    if (i < ODD.length) return ODD[i]?.();
    const payload = new Map<string, unknown>(Object.entries(valid));
    for (let change = 0; change <= random() * 3; change++) {
      const key = pick(keys);
      if (random() < 0.3) payload.delete(key);
      else payload.set(key, odd());
    }
    return Object.fromEntries(payload);
  });
}

/** Arrays in arrays. */
export function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 1; i < depth; i++) value = [value];
  return value;
}
