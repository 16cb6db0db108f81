// Dialling: connects from the supervisor to addresses that were judged.
#pragma once

#include <chrono>
#include <span>

#include "base/fd.h"
#include "egress/endpoint.h"

namespace cordon {

struct Dialled {
  Fd socket;        // connected and non-blocking; invalid if no target answered
  int error = 0;    // errno of the last try
  Endpoint target;  // the one that was tried last
};

// Tries the targets in turn, each with a socket of `domain` that has the options of `like`, until
// one answers, the time is over or `stop` becomes readable. There is at least one target.
Dialled dial(std::span<const Endpoint> targets, int domain, int like,
             std::chrono::milliseconds time, int stop);

// Waits until a connection that was begun is made or has failed: 0, or the errno of the waiting.
int wait_until_decided(int socket, std::chrono::milliseconds time, int stop);

}  // namespace cordon
