/** A result that is there at once, or later: from memory, or over the network. */
export type Awaitable<T> = T | Promise<T>;
