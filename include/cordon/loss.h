// Loss: something that Cordon holds on a complete host and that this host, or the chosen backend,
// cannot hold. It is decided while planning, told in the report (`enforcement.lost`), by `cordon
// doctor` and in docs/backends.md, always by the same name and the same sentence.
#pragma once

#include <cstdint>
#include <string_view>

namespace cordon {

// What is not held. sentence_of() says what that means.
enum class Loss : std::uint8_t {
  // Without namespaces.
  Metadata,
  Processes,
  Accounts,
  Scratch,
  // Without a control group.
  MemoryBurst,
  // Without Landlock, or with one that is older than Linux 6.12.
  LandlockFiles,
  LandlockRefer,
  LandlockTruncate,
  LandlockIoctl,
  LandlockScopes,
  // Without mounts.
  Protected,
  // Without a network namespace.
  Loopback,
  // Without a control group, for root.
  ProcessBurst,
  // On every kernel.
  InFlight,
  Appearing,
  // Where /proc/sys cannot be written.
  Inotify,
};

// The word in the report: "metadata".
std::string_view name_of(Loss loss);
// What can happen, in one sentence without a full stop.
std::string_view sentence_of(Loss loss);

// Whether the command can see or do something because of it. Else the loss leaves one layer where
// there are two, or a bound that is enforced late, and `cordon run` does not speak of it.
enum class Reach : std::uint8_t { Wider, Same };
// What a loss means for the command.
Reach reach_of(Loss loss);

}  // namespace cordon
