/** Takes a client's mask off a frame; some bytes behind `end` change as well. */
export function unmask(at: i32, end: i32, mask: i32): void {
  const block = i32x4.splat(mask);
  for (; at < end; at += 16) {
    v128.store(at, v128.xor(v128.load(at), block));
  }
}
