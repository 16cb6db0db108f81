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

// A mechanism that can contain a command.
enum class BackendKind : std::uint8_t {
  Native,
  Bwrap,
  Landlock,
  Mxc,
  Oci,  // an OCI runtime: runc or crun
  Seatbelt,
  ProcessContainer,  // values for Windows that nothing runs
};

// All of them.
inline constexpr std::array kBackendKinds{
    BackendKind::Native, BackendKind::Bwrap,    BackendKind::Landlock,        BackendKind::Mxc,
    BackendKind::Oci,    BackendKind::Seatbelt, BackendKind::ProcessContainer};

// "native"
std::string_view name_of(BackendKind kind);
// The backend of that name; nothing if there is none.
std::optional<BackendKind> backend_called(std::string_view name);
// "native, bwrap, landlock, mxc, oci, seatbelt": what can be asked for, for messages.
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
  BackendKind backend = BackendKind::Native;  // which one
  std::string reason;  // "this host refuses user-namespace (No space left on device)"
  std::string cure;    // what to change so that it could; empty: nothing that is known
  bool operator==(const PassedOver&) const = default;
};

// Which backend carries out a run, and why that one.
struct BackendChoice {
  BackendKind backend = BackendKind::Native;  // which one
  ChosenBy by = ChosenBy::Default;            // who named it
  std::vector<PassedOver> passed_over;        // in the order of choice
  bool operator==(const BackendChoice&) const = default;
};

}  // namespace cordon
