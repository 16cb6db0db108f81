#include "run/choose.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/host_settings.h"
#include "host/own_programs.h"
#include "run/backends.h"
#include "run/host_cure.h"

namespace cordon {
namespace {

// Strongest first.
constexpr std::array kOrder{BackendKind::Native, BackendKind::Bwrap, BackendKind::Landlock};

// Whether a run that names no backend may get this one, which then has a place in kOrder.
constexpr bool is_in_order(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
    case BackendKind::Bwrap:
    case BackendKind::Landlock:
      return true;
    case BackendKind::Mxc:  // somebody else's program, which an operator has to want
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return false;
  }
  return false;
}
static_assert(std::ranges::all_of(kBackendKinds, [](BackendKind kind) {
  return is_in_order(kind) == (std::ranges::find(kOrder, kind) != kOrder.end());
}));

// The layer a backend always goes without. Of those that are only taken when named, the plan says
// it.
std::optional<Layer> missing_layer(BackendKind kind) {
  switch (kind) {
    case BackendKind::Landlock:
      return Layer::Namespaces;
    case BackendKind::Native:
    case BackendKind::Bwrap:
    case BackendKind::Mxc:
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_permitted(BackendKind kind, const Effective& effective) {
  return !effective.backends ||
         std::ranges::find(*effective.backends, kind) != effective.backends->end();
}

bool names(const Ceiling& ceiling, BackendKind kind) {
  const auto& backends = ceiling.policy.require.backends;
  return !backends || std::ranges::find(*backends, kind) != backends->end();
}

std::string option_of(const BackendWish& wish) {
  switch (wish.by) {
    case ChosenBy::Option:
      return "--backend";
    case ChosenBy::Variable:
      return "CORDON_BACKEND";
    case ChosenBy::Caller:
    case ChosenBy::Default:
      break;
  }
  return "the request";
}

// Which ceiling does not let it be used, and the line of it to change.
Error not_permitted(const BackendWish& wish, BackendKind kind,
                    const std::vector<Ceiling>& ceilings) {
  const std::string name(name_of(kind));
  const auto against =
      std::ranges::find_if(ceilings, [&](const Ceiling& ceiling) { return !names(ceiling, kind); });
  const std::string file = against == ceilings.end() ? "a ceiling" : quote(against->id);
  return policy_error(
      "backend " + name + ", which " + option_of(wish) + " asks for, is not permitted by " + file,
      "name another one, or add \"" + name + "\" to backends in its [require]");
}

Error none_permitted(const std::vector<Ceiling>& ceilings) {
  std::string files;
  for (const Ceiling& ceiling : ceilings) {
    if (!ceiling.policy.require.backends) continue;
    files.append(files.empty() ? "" : ", ").append(quote(ceiling.id)).append(" permits");
    for (const BackendKind kind : *ceiling.policy.require.backends) {
      files.append(" ").append(name_of(kind));
    }
  }
  return policy_error("the ceilings permit no backend that a run could have: " + files,
                      "make one of native, bwrap and landlock stand in backends of each [require]");
}

// The ceilings that have to accept a missing layer and do not; with none, that there is none.
std::string acceptance(Layer layer, const std::vector<Ceiling>& ceilings) {
  const std::string line = "[require] accept_missing = [\"" + std::string(name_of(layer)) + "\"]";
  if (ceilings.empty()) {
    return "or accept what landlock goes without: cordon setup writes a ceiling with " + line;
  }
  std::string files;
  for (const Ceiling& ceiling : ceilings) {
    const RequireRules& require = ceiling.policy.require;
    const auto has = [&](const auto& layers) {
      return std::find(layers.begin(), layers.end(), layer) != layers.end();
    };
    if (has(require.accept_missing) && !has(require.layers)) continue;
    files.append(files.empty() ? "" : " and ").append(quote(ceiling.id));
  }
  return "or accept what landlock goes without: " + line + " in " + files;
}

std::string reasons(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& passed : passed_over) {
    text.append(text.empty() ? "" : "; ").append(name_of(passed.backend));
    text.append(": ").append(passed.reason);
  }
  return text;
}

std::string cures(const std::vector<PassedOver>& passed_over) {
  std::string text;
  for (const PassedOver& passed : passed_over) {
    if (passed.cure.empty()) continue;
    text.append(text.empty() ? "" : "; ").append(passed.cure);
  }
  return text;
}

std::optional<HostRefusal> refused_native() {
  const auto refusal = native::refused_by_host();
  if (!refusal) return std::nullopt;
  return HostRefusal{message(native::refusal_of(refusal->probe)),
                     cure_for(refusal->probe, refusal->probes, host_settings())};
}

// What bubblewrap needs is no cure for namespaces that are refused, since it needs them too: told
// is only why it is of no use.
std::optional<HostRefusal> refused_by_probe(BackendKind kind) {
  const auto backend = make_backend(kind);
  if (!backend) return HostRefusal{message(backend.error()), {}};
  const auto probed = (*backend)->probe();
  if (!probed) return HostRefusal{message(probed.error()), {}};
  return std::nullopt;
}

}  // namespace

std::string program_inside(const std::string& given, const Caller& caller) {
  if (!given.empty()) return given;
  if (!basename(caller.executable).starts_with("cordon-")) return {};
  for (const std::string& place : own_places(parent(caller.executable), "cordon")) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return {};
}

IdentityMapping identity_mapping(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
      return IdentityMapping::AnyOwner;
    case BackendKind::Bwrap:
    case BackendKind::Landlock:
    case BackendKind::Mxc:
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      return IdentityMapping::OnlySelf;
  }
  return IdentityMapping::OnlySelf;
}

Result<BackendKind> parse_backend(std::string_view name) {
  if (const auto kind = backend_called(name)) return *kind;
  std::vector<std::string_view> names;
  for (const BackendKind kind : kBackendKinds) names.push_back(name_of(kind));
  Error error = usage_error("unknown backend " + quote(name), "known: " + known_backends());
  if (const auto near = nearest(name, names)) error.hint = "did you mean " + *near + "?";
  return fail(std::move(error));
}

Result<Capabilities> probe(BackendKind kind) {
  CORDON_TRY(backend, make_backend(kind));
  auto found = backend->probe();
  if (found || kind != BackendKind::Native) return found;
  Error error = std::move(found).error();
  if (auto refusal = refused_native(); refusal && !refusal->cure.empty()) {
    error.hint = std::move(refusal->cure);
  }
  return fail(std::move(error));
}

HostProbe ask_this_host() {
  return [](BackendKind kind) {
    return kind == BackendKind::Native ? refused_native() : refused_by_probe(kind);
  };
}

Result<BackendWish> backend_wish(std::optional<BackendKind> asked, ChosenBy by,
                                 const Caller& caller) {
  if (asked) return BackendWish{asked, by};
  const auto variable = caller.environment.find("CORDON_BACKEND");
  if (variable == caller.environment.end()) return BackendWish{};
  if (variable->second.empty()) {
    return fail(usage_error("CORDON_BACKEND is set but empty",
                            "name a backend in it (" + known_backends() + "), or unset it"));
  }
  auto kind = parse_backend(variable->second);
  if (!kind) {
    Error error = std::move(kind).error();
    error.what = "CORDON_BACKEND: " + error.what;
    return fail(std::move(error));
  }
  return BackendWish{*kind, ChosenBy::Variable};
}

Result<BackendChoice> choose_backend(const BackendWish& wish, const Effective& effective,
                                     const std::vector<Ceiling>& ceilings, Foresight foresight,
                                     const HostProbe& ask) {
  if (wish.backend) {
    if (!is_permitted(*wish.backend, effective)) {
      return fail(not_permitted(wish, *wish.backend, ceilings));
    }
    return BackendChoice{*wish.backend, wish.by, {}};
  }
  BackendChoice choice;
  bool any_permitted = false;
  std::string accept;
  for (const BackendKind kind : kOrder) {
    if (!is_permitted(kind, effective)) {
      choice.passed_over.push_back({kind, "a ceiling does not permit it", {}});
      continue;
    }
    any_permitted = true;
    const bool trusts = kind == BackendKind::Native && foresight == Foresight::TakeNative;
    const auto refusal = trusts ? std::nullopt : ask(kind);
    if (refusal) {
      choice.passed_over.push_back({kind, refusal->reason, refusal->cure});
      continue;
    }
    const auto layer = missing_layer(kind);
    if (layer &&
        std::ranges::find(effective.accept_missing, *layer) == effective.accept_missing.end()) {
      accept = acceptance(*layer, ceilings);
      choice.passed_over.push_back(
          {kind,
           "it goes without " + std::string(name_of(*layer)) + ", which not every ceiling accepts",
           {}});
      continue;
    }
    choice.backend = kind;
    return choice;
  }
  if (!any_permitted) return fail(none_permitted(ceilings));
  std::string hint = cures(choice.passed_over);
  if (!accept.empty()) hint.append(hint.empty() ? "" : "; ").append(accept);
  return fail({.kind = ErrorKind::Unavailable,
               .what = "nothing can contain a run on this host: " + reasons(choice.passed_over),
               .hint = std::move(hint)});
}

bool has_next(const BackendChoice& choice, const Effective& effective) {
  if (choice.by != ChosenBy::Default) return false;
  const auto* place = std::ranges::find(kOrder, choice.backend);
  return std::any_of(place + 1, kOrder.end(),
                     [&](BackendKind kind) { return is_permitted(kind, effective); });
}

Error with_passed_over(Error error, const BackendChoice& choice, const HostProbe& ask) {
  std::vector<PassedOver> passed_over = choice.passed_over;
  const bool wants_more =
      choice.backend == BackendKind::Landlock && error.kind == ErrorKind::Unsupported;
  if (passed_over.empty() && wants_more) {
    const auto refusal = ask(BackendKind::Native);
    if (!refusal) {
      error.hint.append(error.hint.empty() ? "use --backend native" : ", or use --backend native");
      return error;
    }
    passed_over.push_back({BackendKind::Native, refusal->reason, refusal->cure});
  }
  if (passed_over.empty()) return error;
  error.what.append("; ").append(reasons(passed_over));
  const std::string cure = cures(passed_over);
  if (!cure.empty()) {
    error.hint = error.hint.empty() ? cure : cure + "; or, without that, " + error.hint;
  }
  return error;
}

std::string choice_line(const BackendChoice& choice, const std::vector<Loss>& lost) {
  std::string words;
  for (const Loss loss : lost) {
    // A single file that git tracks, which native keeps and puts back: told when it was changed.
    const bool tracked = choice.backend == BackendKind::Native && loss == Loss::Protected;
    if (reach_of(loss) == Reach::Wider && !tracked) {
      words.append(words.empty() ? "" : ", ").append(name_of(loss));
    }
  }
  if (words.empty() && choice.passed_over.empty()) return {};
  std::string line = "contained by " + std::string(name_of(choice.backend));
  if (!choice.passed_over.empty())
    line.append(" (").append(reasons(choice.passed_over)).append(")");
  if (words.empty()) return line.append(", which holds what native does");
  return line.append(", which does not hold: ").append(words).append(" (docs/backends.md)");
}

}  // namespace cordon
