#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "connection/connection.h"
#include "modes/modes.h"
#include "modes/window.h"

static const struct options *options;

static void describe(struct connection *c) {
  c->role = c->index % 2 == 0 ? AGENT : COMPUTER;
  c->office = c->index / 2;
  c->port = port_of(c->role == AGENT ? &options->agents : &options->computers, c->office);
  snprintf(c->name, sizeof c->name, "member-%u", c->index);
}

static void started(struct connection *c) { (void)c; }
static void received(struct connection *c) { (void)c; }

/** Parses steps such as "1000,5000". */
static unsigned next_step(const char **steps) {
  char *end;
  unsigned step = (unsigned)strtoul(*steps, &end, 10);
  *steps = *end == ',' ? end + 1 : end;
  return step;
}

/** Prints what a server uses for members that do nothing. */
static void watch_them(const struct options *o) {
  uint64_t end = now() + (uint64_t)(o->watched * SECOND);
  struct window window = window_begin(&o->processes);
  while (now() < end && net.errors == 0) net_turn(end);
  char used[WINDOW_TEXT];
  window_end(&window, &o->processes, used);
  printf(",\"watched\":{%s\"members\":%u}", used, net.ready);
}

void run_idle(const struct options *o) {
  options = o;
  net.received = received;
  net.started = started;
  unsigned most = 2;
  for (const char *steps = o->steps; *steps != 0;) {
    unsigned step = next_step(&steps);
    if (step > most) most = step;
  }
  net_init(most);
  net_open(2, describe); // memory of the first ones does not count
  net_settle(SECOND);
  uint64_t before = memory_of_all(&o->processes, "VmRSS");
  printf("{\"steps\":[");
  for (const char *steps = o->steps; *steps != 0;) {
    unsigned step = next_step(&steps), had = net.ready;
    struct window window = window_begin(&o->processes);
    net_open(step, describe);
    char used[WINDOW_TEXT];
    window_end(&window, &o->processes, used);
    net_settle((uint64_t)(o->seconds * SECOND));
    printf("{%s\"members\":%u,\"joined\":%u,\"bytesBefore\":%llu,\"bytes\":%llu}%s",
           used, net.ready, net.ready - had, (unsigned long long)before,
           (unsigned long long)memory_of_all(&o->processes, "VmRSS"), *steps == 0 ? "" : ",");
  }
  printf("]");
  if (o->watched > 0) watch_them(o);
  printf("}\n");
}
