#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(struct options *o, const char *name, const char *value) {
  struct { const char *name; unsigned *at; } numbers[] = {
    {"port", &o->port}, {"raw", &o->raw}, {"reencoded", &o->reencoded},
    {"pairs", &o->pairs}, {"inflight", &o->inflight}, {"rotate", &o->rotate},
    {"per_address", &o->per_address}, {"opening", &o->opening}, {"members", &o->members},
    {"open_timeout", &o->open_timeout},
  };
  struct { const char *name; double *at; } reals[] = {
    {"rate", &o->rate}, {"warmup", &o->warmup}, {"seconds", &o->seconds},
  };
  struct { const char *name; const char **at; } texts[] = {
    {"mode", &o->mode}, {"path", &o->path}, {"answer", &o->answer},
    {"call", &o->call}, {"steps", &o->steps},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(name, numbers[i].name) == 0) {
      *numbers[i].at = (unsigned)strtoul(value, NULL, 10);
      return;
    }
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    if (strcmp(name, reals[i].name) == 0) {
      *reals[i].at = strtod(value, NULL);
      return;
    }
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(name, texts[i].name) == 0) {
      *texts[i].at = value;
      return;
    }
  }
  if (strcmp(name, "pid") == 0) {
    o->pid = (pid_t)strtol(value, NULL, 10);
    return;
  }
  fprintf(stderr, "Unknown option %s\n", name);
  exit(2);
}

struct options read_options(int count, char **words) {
  struct options o = {
    .mode = "calls", .path = "/socket.io/", .pairs = 1, .inflight = 1,
    .warmup = 0.5, .seconds = 1, .per_address = 90, .opening = 64, .open_timeout = 300,
    .members = 2, .steps = "1000",
  };
  for (int i = 1; i < count; i++) {
    char *equals = strchr(words[i], '=');
    if (equals == NULL) {
      fprintf(stderr, "Not of the form name=value: %s\n", words[i]);
      exit(2);
    }
    *equals = 0;
    set(&o, words[i], equals + 1);
  }
  return o;
}
