/** The resources that the server and this process used between two moments. */
#ifndef WINDOW_H
#define WINDOW_H
#include <stdint.h>
#include <sys/types.h>

struct window {
  uint64_t began, server, self, machine;
};

struct window window_begin(pid_t server);

/** Writes the common fields of results, without braces and with a trailing comma. */
void window_end(struct window began, pid_t server, char *json, size_t size);
#endif
