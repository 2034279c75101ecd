/** A WebSocket with a minimal Engine.IO 4 and Socket.IO 5; frames are sent and received raw. */
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

/** Maximum bytes of each message that are kept for reading. */
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
  uint16_t port;
  /** Globally unique, as some servers require. */
  char name[24];
  /** When it sent its join. */
  uint64_t joined_at;
  /** State of the frame that is being received. */
  uint8_t header[14];
  unsigned header_length;
  uint8_t opcode;
  bool in_payload;
  uint64_t payload_length, received;
  char kept[1024];
  size_t kept_length;
  /** The offset of the arguments in the payload; 0 if they are not compared. */
  size_t body_at;
  /** The expected arguments, byte by byte, except for the id. */
  const struct template *expected;
  bool differs;
  /** Data that the socket has not taken yet. */
  struct unsent *first, *last;
  /** Number of requested acks. */
  uint32_t asked;
  struct call *calls;
};

/** The common state of all connections. */
struct net {
  int epoll;
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
  /** Called when a message is complete. */
  void (*received)(struct connection *c);
  /** Called when the start of a message is available; may set `body_at` and `expected`. */
  void (*started)(struct connection *c);
};

extern struct net net;

/** Allocates memory for a number of connections. */
void net_init(unsigned most);

/** Opens connections until there are `count`, and waits until all are ready; `describe` fills in their roles and ports. */
void net_open(unsigned count, void (*describe)(struct connection *c));

/** Handles events until `deadline`, or until one wait has ended. */
void net_turn(uint64_t deadline);

/** Waits until there was no event for a time; five times as long at most. */
void net_settle(uint64_t silence);

/** Subscribes to events of a connection's socket; `how` is the operation of epoll_ctl(). */
void watch(struct connection *c, int how, uint32_t events);

/** Closes a connection after an error. */
void drop(struct connection *c, const char *why);

/** Counts an error; prints the first ones. */
void fault(const struct connection *c, const char *what);
#endif
