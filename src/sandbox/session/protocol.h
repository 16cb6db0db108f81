// What a session's owner and the spawner inside its sandbox say to each other.
//
// The spawner (spawner.h) is the command of the session's run. Its standard input is a socket, over
// which it is given one SpawnOrder for each command that is to be started. An order brings the
// command's own channel: a second socket pair, over which that one command is described, signalled
// and ended, and over which its end is told. Fixed-size messages over seqpacket sockets; the words
// of a command, which may be long, come in a memory file.
#pragma once

#include <cstdint>
#include <string_view>

namespace cordon::session {

// The word of cordon-inside that makes it a spawner.
inline constexpr std::string_view kSpawnInside = "spawn-inside";

// To the spawner. It carries four descriptors: the command's channel and its three streams.
struct SpawnOrder {
  std::uint32_t version = 1;
};
inline constexpr std::size_t kSpawnDescriptors = 4;

// To one command, over its channel.
struct ExecOrder {
  enum class Kind : std::uint32_t {
    Start,   // first, and once: carries the memory file with `size` bytes of words
    Signal,  // to every process of this command
    End,     // kills them all; `Ended` follows when none is left
  };
  Kind kind = Kind::Start;
  std::int32_t signal = 0;
  std::uint64_t size = 0;
};

// The words, each with a zero byte behind it: where to start (empty: where the session started);
// variables beside the session's, as NAME=VALUE, and an empty word behind the last one; the program
// and its arguments.

// From one command, over its channel.
struct ExecMessage {
  enum class Kind : std::uint32_t {
    Failed,  // it was not started: `error` says why
    Ended,   // status and usage of the command itself; what it left in the background goes on
  };
  Kind kind = Kind::Failed;
  std::int32_t error = 0;
  std::int32_t at_cwd = 0;  // Failed: it was the directory that could not be entered
  std::int32_t wait_status = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};

}  // namespace cordon::session
