#include "policy/names.h"

#include <algorithm>

#include "cordon/policy.h"

namespace cordon {

std::string_view name_of(NetMode mode) {
  switch (mode) {
    case NetMode::None:
      return "none";
    case NetMode::Allow:
      return "allow";
    case NetMode::Open:
      return "open";
  }
  return "none";
}

std::string_view name_of(HomeMode mode) {
  switch (mode) {
    case HomeMode::None:
      return "none";
    case HomeMode::Private:
      return "private";
    case HomeMode::Persistent:
      return "persistent";
  }
  return "none";
}

std::string_view name_of(WriteMode mode) {
  switch (mode) {
    case WriteMode::Staged:
      return "staged";
    case WriteMode::Live:
      return "live";
  }
  return "staged";
}

std::string_view name_of(StageEnd end) {
  switch (end) {
    case StageEnd::Review:
      return "review";
    case StageEnd::Auto:
      return "auto";
  }
  return "review";
}

std::string_view name_of(Layer layer) {
  switch (layer) {
    case Layer::Namespaces:
      return "namespaces";
    case Layer::Landlock:
      return "landlock";
    case Layer::Seccomp:
      return "seccomp";
    case Layer::Capabilities:
      return "capabilities";
    case Layer::Cgroup:
      return "cgroup";
  }
  return "namespaces";
}

std::string_view name_of(SecretRule::Kind kind) {
  switch (kind) {
    case SecretRule::Kind::Header:
      return "header";
    case SecretRule::Kind::Basic:
      return "basic";
    case SecretRule::Kind::Bearer:
      return "bearer";
  }
  return "header";
}

std::string_view name_of(AuditFailure choice) {
  switch (choice) {
    case AuditFailure::Deny:
      return "deny";
    case AuditFailure::Buffer:
      return "buffer";
    case AuditFailure::Warn:
      return "warn";
  }
  return "";
}

AuditChoice audit_choice(std::span<const Ceiling> ceilings) {
  AuditChoice choice;
  if (!ceilings.empty()) choice.on_failure = AuditFailure::Warn;
  for (const Ceiling& ceiling : ceilings) {
    choice.on_failure = std::min(choice.on_failure, ceiling.audit.on_failure);
    if (ceiling.audit.keep != KeepBounds{}) choice.keep.push_back(ceiling.audit.keep);
  }
  return choice;
}

}  // namespace cordon
