/** One WebSocket that speaks Engine.IO 4 and Socket.IO 5 by hand; frames come and go as they are. */
#ifndef CONNECTION_H
#define CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection/template.h"

/** The namespace's packets start with these. */
#define EVENT "42/smcp,"
#define ACK "43/smcp,"
#define HEAD_LENGTH 8

/** So much of each message is kept to be read. */
#define KEPT 256

enum role { AGENT, COMPUTER };
enum state { CLOSED, CONNECTING, UPGRADING, OPENING, ENTERING, JOINING, READY };

struct unsent;

struct connection {
  int fd;
  /** Position among all connections. */
  unsigned index;
  enum role role;
  enum state state;
  /** Its office; connections of one office are a group. */
  unsigned office;
  /** Unique everywhere: some servers want that. */
  char name[24];
  /** Of the frame that is being received. */
  uint8_t header[14];
  unsigned header_length;
  uint8_t opcode;
  bool in_payload;
  uint64_t payload_length, received;
  char kept[1024];
  size_t kept_length;
  /** Where the arguments start in the payload; 0 when they are not compared. */
  size_t body_at;
  /** What the arguments have to be, byte by byte, but for the id. */
  const struct template *expected;
  bool differs;
  /** What the socket did not take yet. */
  struct unsent *first, *last;
  /** Acks that were asked for. */
  uint32_t asked;
  struct call *calls;
};

/** What all connections have in common. */
struct net {
  int epoll;
  uint16_t port;
  const char *path;
  /** No Socket.IO: the peer forwards frames within a group. */
  bool raw;
  /** Connections from one address of 127/8, which servers limit. */
  unsigned per_address;
  /** Connections that may be opening at once. */
  unsigned opening;
  /** Seconds for all of them to open. */
  unsigned open_timeout;
  struct connection *all;
  unsigned count, ready;
  uint64_t errors, heard_at;
  /** A message came whole. */
  void (*received)(struct connection *c);
  /** The start of a message is kept; may set `body_at` and `expected`. */
  void (*started)(struct connection *c);
};

extern struct net net;

/** Sets up room for so many connections. */
void net_init(unsigned most);

/** Opens connections until there are `count`, and waits until all are ready; `describe` says who each is. */
void net_open(unsigned count, void (*describe)(struct connection *c));

/** Handles what comes until `deadline`, or until one wait is over. */
void net_turn(uint64_t deadline);

/** Waits until nothing came for so long. */
void net_settle(uint64_t silence);

/** Subscribes to events of a connection's socket; `how` is the operation of epoll_ctl(). */
void watch(struct connection *c, int how, uint32_t events);

/** Closes a connection that is of no use any more, which must not happen. */
void drop(struct connection *c, const char *why);

/** Counts something that must not happen; the first of them are told. */
void fault(const struct connection *c, const char *what);
#endif
