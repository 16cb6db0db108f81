// What the supervisor of a run and its gate (cordon-gate) say to each other.
//
// The gate's descriptor 3 is one end of a SOCK_SEQPACKET pair. A message is one packet with one
// JSON object that has one member, whose name says what it is; descriptors travel beside it
// (SCM_RIGHTS).
//
//   supervisor                                          gate
//   configure + memory file + trust bundle        ->
//                                                 <-    ready, or failed (and it ends)
//   connection + the client's socket              ->
//                                                 <-    request        for every request it could
//                                                 read or refused
//   go, or stop                                   ->                   for every request that was
//   not refused
//                                                 <-    dial           where the connection has no
//                                                 upstream socket yet
//   dialled + the connected upstream socket       ->
//                                                 <-    done           once for every request that
//                                                 was not refused
//   secret                                        ->                   at any time: the value that
//   holds from now on
//
// The packet `configure` says nothing more: the configuration, which holds secrets, is the text of
// the memory file, sealed against writing (see encode of Configuration). Both descriptors are read
// from their beginning. A refused request is told once and is not followed by `done`; one that was
// stopped is. Numbers of connections are the supervisor's, those of requests the gate's; neither
// uses one twice. When the socket closes, the gate ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cordon::gate {

inline constexpr int kControl = 3;  // the gate's descriptor
inline constexpr std::size_t kMostPacket = std::size_t{128} << 10U;
inline constexpr std::size_t kMostConfiguration = std::size_t{8} << 20U;

// A method, or "*", and a pattern of base/request_path.h.
struct Match {
  std::string method;
  std::string path;
  bool operator==(const Match&) const = default;
};

struct Rule {
  std::string id;
  std::string host;  // a name in lower case, never an address
  std::uint16_t port = 443;
  std::vector<Match> allow;                     // nothing else passes
  std::vector<Match> deny;                      // wins over allow
  std::vector<std::string> strip;               // names of headers that do not go on
  std::optional<std::uint64_t> request_bytes;   // of a body; absent: any
  std::optional<std::uint64_t> response_bytes;  // the same
  std::optional<std::uint64_t> per_minute;      // requests, of all connections together
  bool websocket = false;                       // a GET may become a WebSocket
  std::optional<std::string> secret;            // the name of one
  bool operator==(const Rule&) const = default;
};

enum class SecretKind {
  Header,  // the value alone is the header's
  Basic,   // NAME:PASSWORD, sent as credentials of the Basic scheme
  Bearer,  // a token, sent as those of the Bearer scheme
};

struct Secret {
  std::string name;
  std::string host;  // it goes nowhere else
  SecretKind kind = SecretKind::Bearer;
  std::string header = "authorization";
  std::string value;
  std::string placeholder;  // what stands for it in the sandbox; at least 16 characters, or empty:
                            // there is none
  bool operator==(const Secret&) const = default;
};

// How long the gate waits for a peer that does nothing, how many connections it holds, and how much
// it moves.
struct Bounds {
  std::uint32_t connections = 1024;
  std::uint32_t client_seconds =
      30;  // a head, the next piece of a body, or room for the next piece of an answer
  std::uint32_t upstream_seconds =
      600;  // the same of the server; a model may think before its first byte
  std::optional<std::uint64_t> traffic;  // bytes of all requests and answers together; absent: any
  bool operator==(const Bounds&) const = default;
};

struct Configuration {
  std::vector<Rule> rules;
  std::vector<Secret> secrets;
  bool authority = false;  // makes a certificate authority for connections in mode tls
  Bounds bounds;
  bool operator==(const Configuration&) const = default;
};

// The text of the memory file: {"configure": {"rules": …, "secrets": …, "authority": …, "bounds":
// …}}. What is read is complete: the names of rules and secrets are there once, every pattern can
// be matched, a rule's secret exists and is for the rule's host.
std::string encode(const Configuration& configuration);
Result<Configuration> decode_configuration(std::string_view text);

// To the gate.

struct Configure {  // two descriptors: the memory file, the trust bundle (PEM certificates)
  bool operator==(const Configure&) const = default;
};
enum class ClientMode {
  Plain,  // HTTP to an address of the sandbox's own loopback
  Tls,    // HTTPS to the rule's host, with the authority of this run
};
struct Connection {  // one descriptor: a connected stream socket
  std::uint64_t id = 0;
  std::string rule;
  ClientMode mode = ClientMode::Plain;
  bool operator==(const Connection&) const = default;
};
struct Dialled {  // one descriptor, a connected stream socket, unless there is an error
  std::uint64_t id = 0;
  std::optional<std::string> error;  // why not, in words for the client
  bool operator==(const Dialled&) const = default;
};
struct Go {
  std::uint64_t id = 0;
  bool operator==(const Go&) const = default;
};
struct Stop {
  std::uint64_t id = 0;
  std::string reason;  // in words for the client
  bool operator==(const Stop&) const = default;
};
struct NewSecret {
  std::string name;
  std::string value;
  bool operator==(const NewSecret&) const = default;
};
using ToGate = std::variant<Configure, Connection, Dialled, Go, Stop, NewSecret>;

// From the gate.

struct Ready {
  std::optional<std::string> certificate;  // of the authority, in PEM
  bool operator==(const Ready&) const = default;
};
struct Failed {  // in place of Ready
  std::string reason;
  bool operator==(const Failed&) const = default;
};
struct Dial {  // to the host and port of the connection's rule
  std::uint64_t id = 0;
  bool operator==(const Dial&) const = default;
};
struct Request {
  std::uint64_t id = 0;
  std::uint64_t connection = 0;
  std::string rule;
  std::string method;                  // empty if it could not be read
  std::string path;                    // normal, without the query; empty if it could not be read
  std::optional<std::string> secret;   // the name of what will be added
  std::optional<std::string> refused;  // why it went no further
  bool operator==(const Request&) const = default;
};
struct Done {
  std::uint64_t id = 0;
  unsigned status = 0;               // as the client got it; 0: it got none
  std::uint64_t sent = 0;            // bytes of HTTP to the server
  std::uint64_t received = 0;        // and from it
  std::uint64_t ms = 0;              // since the head of the request was read
  std::optional<std::string> ended;  // why the exchange is not whole
  bool operator==(const Done&) const = default;
};
using FromGate = std::variant<Ready, Failed, Dial, Request, Done>;

// The bound of Bounds::traffic as a policy says it, and why an exchange was not begun, or not
// carried through, for it.
std::string traffic_budget(std::uint64_t most);
std::string beyond_traffic_budget(std::uint64_t most);

std::string encode(const ToGate& message);
std::string encode(const FromGate& message);
// Whatever is not exactly a message of these is an error.
Result<ToGate> decode_to_gate(std::string_view packet);
Result<FromGate> decode_from_gate(std::string_view packet);
// How many descriptors a message comes with.
std::size_t descriptors_of(const ToGate& message);

}  // namespace cordon::gate
