#include "cordon/backend_kind.h"

namespace cordon {

std::string_view name_of(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
      return "native";
    case BackendKind::Bwrap:
      return "bwrap";
    case BackendKind::Landlock:
      return "landlock";
    case BackendKind::Mxc:
      return "mxc";
    case BackendKind::Oci:
      return "oci";
    case BackendKind::Seatbelt:
      return "seatbelt";
    case BackendKind::ProcessContainer:
      return "processcontainer";
  }
  return "";
}

std::optional<BackendKind> backend_called(std::string_view name) {
  for (const BackendKind kind : kBackendKinds) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string known_backends() {
  std::string names;
  for (const BackendKind kind : kBackendKinds) {
    if (kind == BackendKind::ProcessContainer) continue;  // nothing runs it
    names.append(names.empty() ? "" : ", ").append(name_of(kind));
  }
  return names;
}

std::string_view name_of(ChosenBy by) {
  switch (by) {
    case ChosenBy::Default:
      return "default";
    case ChosenBy::Option:
      return "option";
    case ChosenBy::Variable:
      return "variable";
    case ChosenBy::Caller:
      return "caller";
  }
  return "";
}

}  // namespace cordon
