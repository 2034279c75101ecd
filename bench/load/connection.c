#define _GNU_SOURCE
#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>


struct net net;

#define EVENTS 256
/** Connections that may be opening at once. */
#define OPENING 64
/** Time limit for all connections to open; of thousands, servers take minutes. */
#define OPEN_SECONDS 300
/** Connections from one address of 127/8, which servers limit. */
#define PER_ADDRESS 90

void fault(const struct connection *c, const char *what) {
  if (net.errors++ < 5) {
    fprintf(stderr, "connection %u (%s, office %u): %s: %.*s\n", c->index,
            c->role == AGENT ? "agent" : "computer", c->office, what,
            (int)(c->kept_length < 200 ? c->kept_length : 200), c->kept);
  }
}

void watch(struct connection *c, int how, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = c};
  if (epoll_ctl(net.epoll, how, c->fd, &event) != 0) abort();
}

void drop(struct connection *c, const char *why) {
  if (c->state == CLOSED) return;
  fault(c, why);
  if (c->state == READY) net.ready--;
  close(c->fd);
  c->state = CLOSED;
}

static void become_ready(struct connection *c) {
  c->state = READY;
  net.ready++;
}

static void join(struct connection *c) {
  char text[KEPT];
  int length = snprintf(text, sizeof text,
    EVENT "0[\"server:join_office\",{\"role\":\"%s\",\"name\":\"%s\",\"office_id\":\"office-%u\"}]",
    c->role == AGENT ? "agent" : "computer", c->name, c->office);
  send_text(c, text, (size_t)length);
}

/** Handles the steps from Engine.IO's first packet to membership of an office. */
static void introduce(struct connection *c) {
  if (c->state == OPENING && c->kept[0] == '0') {
    c->state = ENTERING;
    send_text(c, "40/smcp,", 8);
  } else if (c->state == ENTERING && strncmp(c->kept, "40/smcp,{", 9) == 0) {
    c->state = JOINING;
    join(c);
  } else if (c->state == JOINING && strncmp(c->kept, ACK "0[true", 14) == 0) {
    become_ready(c);
  } else if (strncmp(c->kept, EVENT "[", 9) != 0) { // a notification may come before
    drop(c, "not let in");
  }
}

static void frame_received(struct connection *c) {
  if (c->opcode == 9) return send_frame(c, 10, c->kept, c->kept_length);
  if (c->opcode == 10) return;
  if (c->opcode != 1) return drop(c, c->opcode == 8 ? "closed by the server" : "no text frame");
  if (!net.raw && c->payload_length == 1 && c->kept[0] == '2') return send_text(c, "3", 1);
  if (c->state == READY) message_received(c);
  else introduce(c);
}

/** Compares a received message with the expected one; the id may be any. */
static void compare(struct connection *c, const char *bytes, uint64_t from, size_t length) {
  const struct template *t = c->expected;
  uint64_t start = from < c->body_at ? c->body_at : from;
  uint64_t end = from + length;
  if (start >= end) return;
  if (end - c->body_at > t->length) {
    c->differs = true;
    return;
  }
  for (int part = 0; part < 2; part++) { // before and after the id
    uint64_t low = part == 0 ? 0 : t->id_at + ID_LENGTH;
    uint64_t high = part == 0 ? t->id_at : t->length;
    uint64_t a = start - c->body_at > low ? start - c->body_at : low;
    uint64_t b = end - c->body_at < high ? end - c->body_at : high;
    if (a < b && memcmp(bytes + (a + c->body_at - from), t->plain + a, b - a) != 0) {
      c->differs = true;
    }
  }
}

static size_t take_header(struct connection *c, const uint8_t *bytes, size_t length) {
  size_t taken = 0;
  while (taken < length && !c->in_payload) {
    c->header[c->header_length++] = bytes[taken++];
    unsigned needed = c->header_length < 2 ? 2 : c->header[1] == 126 ? 4 : c->header[1] == 127 ? 10 : 2;
    if (c->header_length < needed) continue;
    c->opcode = c->header[0] & 15;
    // Compression is not negotiated, and servers neither mask nor split.
    if ((c->header[0] & 0xf0) != 0x80 || (c->header[1] & 0x80) != 0) c->opcode = 15;
    c->payload_length = header_length_field(c->header);
    c->in_payload = true;
    c->received = c->kept_length = c->body_at = 0;
    c->expected = NULL;
    c->differs = false;
  }
  return taken;
}

static void take_frames(struct connection *c, const uint8_t *bytes, size_t length) {
  size_t at = 0;
  while (c->state != CLOSED) {
    if (!c->in_payload) at += take_header(c, bytes + at, length - at);
    if (!c->in_payload) return;
    uint64_t keep = c->payload_length < KEPT ? c->payload_length : KEPT;
    size_t take = length - at;
    if (c->kept_length < keep) {
      if (take > keep - c->kept_length) take = keep - c->kept_length;
      memcpy(c->kept + c->kept_length, bytes + at, take);
      c->kept_length += take;
      c->kept[c->kept_length] = 0;
      if (c->kept_length == keep && c->state == READY && c->opcode == 1) {
        message_started(c);
        if (c->expected != NULL) compare(c, c->kept, 0, c->kept_length);
      }
    } else {
      if (take > c->payload_length - c->received) take = c->payload_length - c->received;
      if (c->expected != NULL && take > 0) compare(c, (const char *)bytes + at, c->received, take);
    }
    c->received += take;
    at += take;
    if (c->received == c->payload_length) {
      c->in_payload = false;
      c->header_length = 0;
      frame_received(c);
    } else if (at == length) {
      return;
    }
  }
}

/** Waits for the end of the answer to the upgrade request. */
static void take_response(struct connection *c, const uint8_t *bytes, size_t length) {
  size_t room = sizeof c->kept - 1 - c->kept_length;
  size_t copied = length < room ? length : room;
  size_t before = c->kept_length;
  memcpy(c->kept + before, bytes, copied);
  c->kept_length += copied;
  c->kept[c->kept_length] = 0;
  char *end = strstr(c->kept, "\r\n\r\n");
  if (end == NULL) {
    if (copied < length) drop(c, "no end of the HTTP response");
    return;
  }
  if (strncmp(c->kept, "HTTP/1.1 101", 12) != 0) return drop(c, "not upgraded");
  size_t used = (size_t)(end + 4 - c->kept) - before;
  c->kept_length = 0;
  if (net.raw) become_ready(c);
  else c->state = OPENING;
  take_frames(c, bytes + used, length - used);
}

static void receive(struct connection *c) {
  static uint8_t buffer[1 << 18];
  ssize_t length = recv(c->fd, buffer, sizeof buffer, 0);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) return drop(c, "lost");
  if (c->state == UPGRADING) take_response(c, buffer, (size_t)length);
  else take_frames(c, buffer, (size_t)length);
}

static void upgrade(struct connection *c) {
  char text[512];
  char group[64] = "";
  if (net.raw) snprintf(group, sizeof group, "&group=%u", c->office);
  int length = snprintf(text, sizeof text,
    "GET /socket.io/?EIO=4&transport=websocket&a2c_version=0.2.0%s HTTP/1.1\r\n"
    "Host: 127.0.0.1:%u\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    group, c->port);
  c->state = UPGRADING;
  send_parts(c, (const uint8_t *)text, (size_t)length, NULL, 0);
}

static void start_connection(struct connection *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (c->fd < 0) {
    perror("Cannot make a socket (is `ulimit -n` high enough?)");
    exit(1);
  }
  int yes = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  unsigned host = c->index / PER_ADDRESS;
  struct sockaddr_in from = {.sin_family = AF_INET};
  from.sin_addr.s_addr = htonl(0x7f000001u + (host / 250 << 8) + host % 250);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(c->port)};
  to.sin_addr.s_addr = htonl(0x7f000001u);
  if (bind(c->fd, (struct sockaddr *)&from, sizeof from) != 0) {
    perror("Cannot use an address of 127.0.0.0/8");
    exit(1);
  }
  c->state = CONNECTING;
  if (connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) {
    perror("Cannot connect");
    exit(1);
  }
  watch(c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

void net_turn(uint64_t deadline) {
  struct epoll_event events[EVENTS];
  uint64_t start = now();
  uint64_t left = deadline > start ? deadline - start : 0;
  struct timespec wait = {(time_t)(left / SECOND), (long)(left % SECOND)};
  int count = epoll_pwait2(net.epoll, events, EVENTS, &wait, NULL);
  if (count > 0) net.heard_at = now();
  for (int i = 0; i < count; i++) {
    struct connection *c = events[i].data.ptr;
    if (c->state == CONNECTING) {
      watch(c, EPOLL_CTL_MOD, EPOLLIN);
      upgrade(c);
      continue;
    }
    if (c->state != CLOSED && events[i].events & EPOLLOUT) send_waiting(c);
    if (c->state != CLOSED && events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
  }
}

void net_open(unsigned count) {
  net.epoll = epoll_create1(0);
  net.all = calloc(count, sizeof *net.all);
  if (net.epoll < 0 || net.all == NULL) abort();
  uint64_t deadline = now() + OPEN_SECONDS * SECOND;
  while (net.ready < count) {
    while (net.count < count && net.count - net.ready < OPENING) {
      struct connection *c = &net.all[net.count];
      c->index = net.count++;
      describe(c);
      start_connection(c);
    }
    net_turn(now() + SECOND);
    if (net.errors > 0 || now() > deadline) {
      fprintf(stderr, "Only %u of %u connections could be opened\n", net.ready, count);
      exit(1);
    }
  }
}

void net_settle(uint64_t silence) {
  // Many members are never silent at the same time: each answers a ping now and then.
  uint64_t latest = now() + 5 * silence;
  net.heard_at = now();
  while (now() < net.heard_at + silence && now() < latest) net_turn(net.heard_at + silence);
}
