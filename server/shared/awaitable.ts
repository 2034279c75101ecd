/** A value, or a promise of it: from memory, or over the network. */
export type Awaitable<T> = T | Promise<T>;
