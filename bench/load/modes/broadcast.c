#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "connection/connection.h"
#include "connection/outgoing.h"
#include "modes/latency.h"
#include "modes/modes.h"
#include "modes/window.h"

static const struct options *options;
static struct latencies latencies;
static uint64_t deliveries, told, began;
static unsigned awaited, sender;

/** Member 0 is the Agent. */
static void describe(struct connection *c) {
  c->role = c->index == 0 ? AGENT : COMPUTER;
  c->office = 0;
  c->port = port_of(c->role == AGENT ? &options->agents : &options->computers, c->index);
  snprintf(c->name, sizeof c->name, "computer-%u", c->index);
}

static void tell(void) {
  char text[KEPT];
  sender = sender + 1 >= options->members ? 1 : sender + 1;
  int length = snprintf(text, sizeof text,
    EVENT "[\"server:update_tool_list\",{\"computer\":\"computer-%u\"}]", sender);
  awaited = options->members - 1;
  began = now();
  send_text(&net.all[sender], text, (size_t)length);
}

static void started(struct connection *c) { (void)c; }

static void received(struct connection *c) {
  if (strncmp(c->kept, EVENT "[\"", 10) != 0) return fault(c, "unexpected message");
  if (strstr(c->kept, "update_tool_list\"") == NULL) return; // of the joins
  if (awaited == 0 || c->index == sender) return fault(c, "told too often");
  deliveries++;
  if (--awaited > 0) return;
  told++;
  latencies_add(&latencies, now() - began);
  tell();
}

static void run_until(uint64_t end) {
  while (now() < end && net.errors == 0) net_turn(end);
}

void run_broadcast(const struct options *o) {
  options = o;
  net.received = received;
  net.started = started;
  net_init(o->members);
  net_open(o->members, describe);
  net_settle(500 * MILLISECOND);
  tell();
  run_until(now() + (uint64_t)(o->warmup * SECOND));
  struct window window = window_begin(&o->processes);
  deliveries = told = latencies.count = 0;
  run_until(now() + (uint64_t)(o->seconds * SECOND));
  char used[WINDOW_TEXT];
  window_end(&window, &o->processes, used);
  latencies_sort(&latencies);
  printf("{%s\"deliveries\":%llu,\"broadcasts\":%llu,\"p50\":%.1f,\"p99\":%.1f}\n",
         used, (unsigned long long)deliveries, (unsigned long long)told,
         latencies_at(&latencies, 0.5),
         latencies_at(&latencies, 0.99));
}
