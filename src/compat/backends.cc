#include "compat/backends.h"

#include <unistd.h>

#include "base/path.h"
#include "compat/engine/runtime_backend.h"
#include "compat/mxc/executor/mxc_backend.h"
#include "compat/seatbelt/seatbelt_backend.h"
#include "host/own_programs.h"
#include "run/backends.h"

namespace cordon {
namespace {

// A program of an embedder has no verb that runs inside.
std::string cordon_beside(const Caller& caller) {
  if (!basename(caller.executable).starts_with("cordon-")) return {};
  for (const std::string& place : own_places(parent(caller.executable), "cordon")) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return {};
}

}  // namespace

MakeBackend every_backend(const Caller& caller, std::string program, std::string runtime) {
  if (program.empty()) program = cordon_beside(caller);
  return [program, runtime](BackendKind kind) -> Result<std::unique_ptr<Backend>> {
    if (kind == BackendKind::Mxc) return mxc::make_mxc_backend(program);
    if (kind == BackendKind::Oci) return engine::make_runtime_backend(runtime);
    if (kind == BackendKind::Seatbelt) return seatbelt::make_backend();
    return make_backend(kind);
  };
}

bool is_oci_runtime(std::string_view name) { return engine::is_runtime_name(name); }

std::optional<std::string> installed_oci_runtime(std::string_view name) {
  return engine::installed_runtime(name);
}

}  // namespace cordon
