#include "compat/mxc/mxc_read.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "compat/mxc/mxc_document.h"
#include "compat/mxc/mxc_filesystem.h"
#include "compat/mxc/mxc_network.h"
#include "config/node.h"
#include "policy/environment.h"

namespace cordon {
namespace {

constexpr MxcVersion kOldest{0, 4};
constexpr MxcVersion kNewest{1, 1};
constexpr MxcVersion kFirstExact{0, 9};
constexpr std::array<std::string_view, 3> kExact{"0.9.0-alpha", "1.0.0", "1.1.0-alpha"};
constexpr std::uint64_t kMostMinor = 1000;

// MAJOR.MINOR.PATCH, then anything that a pre-release or build text may hold.
std::optional<MxcVersion> parse_semver(std::string_view text) {
  const std::string_view core = text.substr(0, text.find_first_of("-+"));
  const auto parts = split(core, '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<std::uint64_t, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number(parts[i]);
    const bool padded = parts[i].size() > 1 && parts[i].front() == '0';
    if (!number || padded || *number > kMostMinor) return std::nullopt;
    numbers[i] = *number;
  }
  const std::string_view rest = text.substr(core.size());
  const bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '+';
  });
  if (!plain || rest == "-" || rest == "+") return std::nullopt;
  return MxcVersion{static_cast<unsigned>(numbers[0]), static_cast<unsigned>(numbers[1])};
}

}  // namespace

Result<MxcVersion> parse_mxc_version(std::string_view text) {
  const auto version = parse_semver(text);
  if (!version) {
    return fail(policy_error(shown(text) + " is not a version", "write it as \"0.6.0-alpha\""));
  }
  if (*version < kOldest) {
    return fail(policy_error("version " + shown(text) + " is older than 0.4, the oldest known"));
  }
  if (*version > kNewest) {
    return fail(policy_error("version " + shown(text) + " is newer than 1.1, the newest known"));
  }
  if (*version >= kFirstExact && std::find(kExact.begin(), kExact.end(), text) == kExact.end()) {
    return fail(policy_error("unknown version " + shown(text),
                             "from 0.9 on it is 0.9.0-alpha, 1.0.0 or 1.1.0-alpha exactly"));
  }
  return *version;
}

namespace {

constexpr std::array<std::string_view, 5> kSections{"lxc", "processContainer", "appContainer",
                                                    "seatbelt", "macos_sandbox"};
constexpr std::array<std::string_view, 4> kClipboard{"none", "read", "write", "all"};

constexpr std::uint64_t kLeastOldTimeout = 500;
// What a process sandbox of MXC sets where a document says nothing.
constexpr std::string_view kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view kTerm = "xterm-256color";

Result<MxcVersion> read_version(const Node& document, const std::string& file) {
  const Node* node = document.find("version");
  if (node == nullptr || std::holds_alternative<std::nullptr_t>(node->value)) return MxcVersion{};
  const auto refuse = [&](Error error) {
    error.place = Place{file, node->line, node->column};
    return fail(std::move(error));
  };
  if (node->text() == nullptr) return refuse(policy_error("\"version\" must be a string"));
  auto version = parse_mxc_version(*node->text());
  if (!version) return refuse(std::move(version).error());
  return *version;
}

Result<void> read_containment(const Section& top, MxcRequest& request) {
  request.containment = "process";
  CORDON_TRY(word, top.text("containment"));
  if (word) request.containment = *word->text;
  if (request.containment != "process" && request.containment != "bubblewrap") {
    Error error = top.error_at(*word->node,
                               "containment " + shown(request.containment) +
                                   " cannot be held by a process sandbox on Linux",
                               "write \"process\" or \"bubblewrap\"");
    error.kind = ErrorKind::Unsupported;
    return fail(std::move(error));
  }
  for (const std::string_view section : kSections) {
    const Node* node = top.find(section);
    if (node == nullptr) continue;
    return fail(top.error_at_key(
        *node, shown(section) + " does not belong to containment " + shown(request.containment),
        "remove it"));
  }
  return {};
}

Result<void> read_variable(MxcDocument& document, const Section& process, const PlacedText& entry,
                           Policy& policy) {
  const std::size_t equals = entry.text->find('=');
  if (equals == std::string::npos) {
    document.tables.lose("process.env", shown(*entry.text) + " has no \"=\" and is ignored");
    return {};
  }
  const std::string name = entry.text->substr(0, equals);
  const std::string value = entry.text->substr(equals + 1);
  if (!is_valid_variable_name(name)) {
    return fail(process.error_at(*entry.node, shown(name) + " is not a variable name"));
  }
  if (is_loader_variable(name)) {
    return fail(process.error_at(*entry.node,
                                 shown(name) + " is refused: it makes the loader run foreign code",
                                 "remove it"));
  }
  if (value.find('\0') != std::string::npos) {
    return fail(process.error_at(*entry.node, "the value of " + shown(name) + " holds a NUL byte"));
  }
  policy.env.set[name] = value;  // the last one counts
  return {};
}

Result<void> read_environment(MxcDocument& document, const Section& process, Policy& policy) {
  CORDON_TRY(flag, process.flag("inheritDefaultEnv"));
  bool inherit = flag == true;
  if (flag && !document.version.at_least(0, 9)) {
    if (document.nested() == UnknownKeys::Refused) {
      return fail(process.error_at_key(*process.find("inheritDefaultEnv"),
                                       "\"inheritDefaultEnv\" came with version 0.9"));
    }
    document.tables.lose("process.inheritDefaultEnv", "it came with version 0.9");
    inherit = false;
  }
  // A sandbox of Cordon always has a PATH. A shell that is given none uses this very one.
  policy.env.set["PATH"] = kPath;
  const bool listed = process.find("env") != nullptr;
  if (document.version.at_least(0, 9) && (!listed || inherit)) {
    policy.env.set["TERM"] = kTerm;
  }
  CORDON_TRY(entries, process.texts("env"));
  for (const PlacedText& entry : entries) {
    CORDON_CHECK(read_variable(document, process, entry, policy));
  }
  return {};
}

Result<void> read_timeout(const MxcDocument& document, const Section& process, Policy& policy) {
  CORDON_TRY(timeout, whole(process, "timeout", kMostTimeout));
  if (!timeout || *timeout == 0) return {};
  if (!document.version.at_least(0, 8) && *timeout < kLeastOldTimeout) {
    return fail(process.error_at(*process.find("timeout"),
                                 "\"timeout\" is below 500 ms, the least of this version"));
  }
  policy.limits.wall_ms = *timeout;
  return {};
}

// Nothing of a desktop is ever inside, so what these grant is lost and what they withhold holds.
Result<void> read_ui(MxcDocument& document) {
  CORDON_TRY(ui, document.member(document.top, mxc_table::kUi));
  CORDON_TRY(disable, ui.flag("disable"));
  CORDON_TRY(clipboard, ui.text("clipboard"));
  // Before 0.8 any word was taken.
  if (document.version.at_least(0, 8)) CORDON_CHECK(one_of(ui, "clipboard", kClipboard));
  CORDON_TRY(injection, ui.flag("injection"));
  const std::string reason = "no display, clipboard or input device is inside a sandbox";
  if (disable && !*disable) document.tables.lose("ui.disable", reason);
  if (clipboard && *clipboard->text != "none") document.tables.lose("ui.clipboard", reason);
  if (injection && *injection) document.tables.lose("ui.injection", reason);
  return {};
}

Result<void> read_remarks(MxcDocument& document, MxcRequest& request) {
  ForeignTables& tables = document.tables;
  CORDON_TRY(id, document.top.text("containerId"));
  if (id) {
    request.container_id = *id->text;
    if (!id->text->empty()) tables.lose("containerId", "a run has an identity of its own");
  }
  CORDON_TRY(lifecycle, document.member(document.top, mxc_table::kLifecycle));
  CORDON_TRY(destroy, lifecycle.flag("destroyOnExit"));
  CORDON_TRY(preserve, lifecycle.flag("preservePolicy"));
  const std::string ends = "nothing of a sandbox outlives its run";
  if (destroy && !*destroy) tables.lose("lifecycle.destroyOnExit", ends);
  if (preserve && *preserve) tables.lose("lifecycle.preservePolicy", ends);
  CORDON_TRY(fallback, document.member(document.top, mxc_table::kFallback));
  CORDON_TRY(mutation, fallback.flag("allowDaclMutation"));
  if (mutation && *mutation) {
    tables.lose("fallback.allowDaclMutation", "permissions of the host's files are never changed");
  }
  for (const std::string_view key : {"experimental", "telemetry"}) {
    const Node* node = document.top.find(key);
    if (node == nullptr) continue;
    if (node->map() == nullptr) {
      return fail(document.top.error_at(*node, shown(key) + " must be a table"));
    }
    if (!node->map()->empty()) tables.lose(std::string(key), "it has no meaning for this sandbox");
  }
  return read_ui(document);
}

// These belong to requests with a phase.
Result<void> refuse_phases(const Section& top) {
  for (const std::string_view key : {"phase", "sandboxId", "correlationVector"}) {
    if (const Node* node = top.find(key)) {
      return fail(top.error_at_key(
          *node, shown(key) + " does not belong to a request that runs one command"));
    }
  }
  return {};
}

Result<void> read_process(MxcDocument& document, MxcRequest& request) {
  CORDON_CHECK(require_key(document.top, "process"));
  CORDON_TRY(process, document.member(document.top, mxc_table::kProcess));
  CORDON_TRY(command, process.text("commandLine"));
  if (!command || command->text->empty()) {
    return fail(process.error_at(command ? *command->node : process.node(),
                                 "\"commandLine\" in [process] must not be empty"));
  }
  if (command->text->find('\0') != std::string::npos) {
    return fail(process.error_at(*command->node, "\"commandLine\" in [process] holds a NUL byte"));
  }
  request.command_line = *command->text;
  CORDON_TRY(cwd, process.text("cwd"));
  if (cwd && !cwd->text->empty()) {
    CORDON_CHECK(literal_path(process, *cwd, "read"));
    request.cwd = *cwd->text;
  }
  CORDON_CHECK(read_environment(document, process, request.policy));
  return read_timeout(document, process, request.policy);
}

}  // namespace

Result<MxcRequest> read_mxc_request(const Node& node, const std::string& file,
                                    const Places& places) {
  CORDON_CHECK(refuse_keychain(node, file));
  MxcRequest request;
  CORDON_TRY(version, read_version(node, file));
  request.version = version;
  ForeignTables tables(file, !version.at_least(0, 9));
  CORDON_TRY(top,
             tables.open(node, "", mxc_table::kTop.keys,
                         version.at_least(0, 7) ? UnknownKeys::Refused : UnknownKeys::Ignored));
  MxcDocument document{tables, top, version};
  request.policy.name = file;
  request.policy.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                   Layer::Capabilities};
  CORDON_CHECK(refuse_phases(top));
  CORDON_CHECK(read_containment(top, request));
  CORDON_CHECK(read_process(document, request));
  CORDON_CHECK(read_mxc_filesystem(document, places, request.policy));
  CORDON_CHECK(read_mxc_network(document, request.policy));
  CORDON_CHECK(read_remarks(document, request));
  request.losses = std::move(tables).take_losses();
  return request;
}

}  // namespace cordon
