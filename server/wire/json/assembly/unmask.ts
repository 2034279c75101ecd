/** Removes a client's mask from a frame; also changes up to 15 bytes after `end`. */
export function unmask(at: i32, end: i32, mask: i32): void {
  const block = i32x4.splat(mask);
  for (; at < end; at += 16) {
    v128.store(at, v128.xor(v128.load(at), block));
  }
}
