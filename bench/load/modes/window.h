/** The resources that the server and this process used between two moments. */
#ifndef WINDOW_H
#define WINDOW_H
#include <stddef.h>
#include <stdint.h>

#include "process.h"

/** Room for what window_end() writes. */
#define WINDOW_TEXT 2048

struct window {
  uint64_t began, servers[MAX_PROCESSES], self, machine;
};

struct window window_begin(const struct processes *servers);

/** Writes the common fields of results to `json`, without braces and with a trailing comma. */
void window_end(const struct window *began, const struct processes *servers, char json[WINDOW_TEXT]);
#endif
