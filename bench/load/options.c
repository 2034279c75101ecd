#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_ports(struct ports *ports, const char *value) {
  for (char *end; *value != 0; value = *end == ',' ? end + 1 : end) {
    unsigned long port = strtoul(value, &end, 10);
    if (end == value || port == 0 || port > 65535 || ports->count == MAX_PORTS) {
      fprintf(stderr, "Not a list of at most %d ports: %s\n", MAX_PORTS, value);
      exit(2);
    }
    ports->of[ports->count++] = (uint16_t)port;
  }
}

uint16_t port_of(const struct ports *ports, unsigned pair) {
  return ports->of[pair % ports->count];
}

static void set(struct options *o, const char *name, const char *value) {
  struct { const char *name; unsigned *at; } numbers[] = {
    {"raw", &o->raw}, {"reencoded", &o->reencoded},
    {"pairs", &o->pairs}, {"inflight", &o->inflight}, {"rotate", &o->rotate},
    {"per_address", &o->per_address}, {"opening", &o->opening}, {"members", &o->members},
    {"open_timeout", &o->open_timeout},
  };
  struct { const char *name; double *at; } reals[] = {
    {"rate", &o->rate}, {"warmup", &o->warmup}, {"seconds", &o->seconds},
    {"watched", &o->watched},
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
  if (strcmp(name, "agents") == 0) return read_ports(&o->agents, value);
  if (strcmp(name, "computers") == 0) return read_ports(&o->computers, value);
  if (strcmp(name, "processes") == 0) return read_processes(&o->processes, value);
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
  if (o.agents.count == 0 || o.computers.count == 0 || o.processes.count == 0) {
    fprintf(stderr, "Missing: agents, computers or processes\n");
    exit(2);
  }
  return o;
}
