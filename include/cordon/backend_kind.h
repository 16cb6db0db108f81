// BackendKind: the mechanisms that can contain a command, by name; and BackendChoice, which of them
// carries out a run and why. docs/backends.md says what each one enforces.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

enum class BackendKind : std::uint8_t {
  Native,
  Bwrap,
  Landlock,
  Mxc,
  Seatbelt,
  ProcessContainer,  // values for Windows that nothing runs
};

inline constexpr std::array kBackendKinds{BackendKind::Native,   BackendKind::Bwrap,
                                          BackendKind::Landlock, BackendKind::Mxc,
                                          BackendKind::Seatbelt, BackendKind::ProcessContainer};

// "native"
std::string_view name_of(BackendKind kind);
std::optional<BackendKind> backend_called(std::string_view name);
// "native, bwrap, landlock, mxc, seatbelt": what can be asked for, for messages.
std::string known_backends();

// Who named the backend of a run.
enum class ChosenBy : std::uint8_t {
  Default,   // nobody: the first that works
  Option,    // --backend
  Variable,  // CORDON_BACKEND
  Caller,    // the program that embeds the library
};
// "default"
std::string_view name_of(ChosenBy by);

// A backend that comes earlier in the order of choice and does not contain this run.
struct PassedOver {
  BackendKind backend = BackendKind::Native;
  std::string reason;  // "this host refuses user-namespace (No space left on device)"
  std::string cure;    // what to change so that it could; empty: nothing that is known
  bool operator==(const PassedOver&) const = default;
};

struct BackendChoice {
  BackendKind backend = BackendKind::Native;
  ChosenBy by = ChosenBy::Default;
  std::vector<PassedOver> passed_over;
  bool operator==(const BackendChoice&) const = default;
};

}  // namespace cordon
