#include "compat/mxc/command/phases.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/text.h"
#include "compat/dialect/host_places.h"
#include "compat/mxc/command/execute.h"
#include "faces/cli/console.h"
#include "host/private_file.h"
#include "run/line.h"

namespace cordon::mxc {
namespace {

Result<Fd> open_store(const Caller& caller) {
  return open_private_directory(join(caller.state_directory, "mxc"));
}

PhaseAnswer failed_phase(std::string_view code, Error error) {
  return tl::make_unexpected(PhaseFault{code, std::move(error)});
}

Node nothing() { return NodeMap{}; }

}  // namespace

Result<void> Provisioned::keep(const Caller& caller, const std::string& token,
                               const std::string& document) {
  CORDON_TRY(directory, open_store(caller));
  if (const int error = put_file(directory.get(), token, document, 0600); error != 0) {
    return fail(setup_error("cannot keep the sandbox's policy", error));
  }
  return {};
}

tl::expected<Provisioned, PhaseFault> Provisioned::find(const Caller& caller,
                                                        const std::string& token) {
  auto directory = open_store(caller);
  if (!directory) {
    return tl::make_unexpected(PhaseFault{"backend_error", std::move(directory).error()});
  }
  if (::faccessat(directory->get(), token.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    return tl::make_unexpected(PhaseFault{"stale_id", policy_error("there is no such sandbox")});
  }
  return Provisioned(std::move(*directory), token);
}

Result<Node> Provisioned::document() const {
  const Fd file(::openat(directory_.get(), token_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return fail(setup_error("cannot read the sandbox's policy", errno));
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(setup_error("cannot read the sandbox's policy", errno));
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return read_json(text, "the provisioned request");
}

bool Provisioned::started() const {
  return ::faccessat(directory_.get(), mark().c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

PhaseAnswer Provisioned::start() {
  const Fd made(::openat(directory_.get(), mark().c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (made.valid()) return nothing();
  if (errno == EEXIST)
    return failed_phase("already_started", policy_error("the sandbox was started"));
  return failed_phase("backend_error", setup_error("cannot start the sandbox", errno));
}

PhaseAnswer Provisioned::stop() {
  if (::unlinkat(directory_.get(), mark().c_str(), 0) == 0) return nothing();
  if (errno == ENOENT)
    return failed_phase("not_started", policy_error("the sandbox was not started"));
  return failed_phase("backend_error", setup_error("cannot stop the sandbox", errno));
}

PhaseAnswer Provisioned::remove() {
  ::unlinkat(directory_.get(), mark().c_str(), 0);
  if (::unlinkat(directory_.get(), token_.c_str(), 0) == 0) return nothing();
  if (errno == ENOENT) return failed_phase("stale_id", policy_error("there is no such sandbox"));
  return failed_phase("backend_error", setup_error("cannot remove the sandbox", errno));
}

namespace {

struct Prefix {
  std::string_view containment;
  std::string_view prefix;
};
// The SDK finds the way back from an id by its prefix and knows no others.
constexpr std::array<Prefix, 3> kPrefixes{
    {{"isolation_session", "iso"}, {"wslc", "wslc"}, {"windows_sandbox", "wsb"}}};
constexpr std::array<std::string_view, 5> kPhases{"provision", "start", "exec", "stop",
                                                  "deprovision"};
constexpr std::array<std::string_view, 3> kPolicyKeys{"filesystem", "network", "ui"};

PhaseFault fault(std::string_view code, std::string what) {
  return {code, policy_error(std::move(what))};
}

std::string text_of(const Node& document, std::string_view key) {
  const Node* node = document.find(key);
  return node != nullptr && node->text() != nullptr ? *node->text() : std::string();
}

// Keys of `allowed`, and those that never mean anything.
std::optional<PhaseFault> check_keys(const Node& document, std::string_view phase,
                                     std::span<const std::string_view> allowed) {
  const NodeMap* members = document.map();
  if (members == nullptr) return fault("malformed_request", "the request is no table");
  for (const auto& [key, value] : *members) {
    const std::array<std::string_view, 6> always{"version",  "phase",     "$schema",
                                                 "_comment", "sandboxId", "correlationVector"};
    if (std::ranges::find(always, key) != always.end()) continue;
    if (std::ranges::find(allowed, key) != allowed.end()) continue;
    const bool policy = std::ranges::find(kPolicyKeys, key) != kPolicyKeys.end();
    return fault(policy ? "policy_validation" : "malformed_request",
                 quote(key) + " does not belong to the phase " + std::string(phase));
  }
  return std::nullopt;
}

// "provision" of "wslc:..." and its like.
std::optional<std::string> token_of(std::string_view id) {
  const std::size_t colon = id.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const bool known = std::ranges::any_of(
      kPrefixes, [&](const Prefix& entry) { return entry.prefix == id.substr(0, colon); });
  const std::string_view token = id.substr(colon + 1);
  const bool plain = token.size() == 32 && std::ranges::all_of(token, [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
  if (!known || !plain) return std::nullopt;
  return std::string(token);
}

Node one_shot(const Node& document, Node process) {
  Node request{NodeMap{}};
  for (const std::string_view key : {"version", "filesystem", "network", "ui"}) {
    if (const Node* node = document.find(key)) request.set(std::string(key), *node);
  }
  request.set("process", std::move(process));
  return request;
}

PhaseAnswer provision(const Node& document, const std::string& name, const Caller& caller) {
  constexpr std::array<std::string_view, 4> kKeys{"containment", "filesystem", "network", "ui"};
  if (auto bad = check_keys(document, "provision", kKeys)) return tl::make_unexpected(*bad);
  if (document.find("sandboxId") != nullptr) {
    return tl::make_unexpected(fault("malformed_request", "provision takes no sandboxId"));
  }
  const std::string containment = text_of(document, "containment");
  const auto* prefix = std::ranges::find(kPrefixes, containment, &Prefix::containment);
  if (prefix == kPrefixes.end()) {
    return tl::make_unexpected(
        fault("unsupported_containment", quote(containment) + " has no phases"));
  }
  const Node request = one_shot(document, Node().set("commandLine", Node("true")));
  if (auto legal = read_mxc_request(request, name, places_of(caller)); !legal) {
    return tl::make_unexpected(PhaseFault{"policy_validation", std::move(legal).error()});
  }
  const std::string token = random_id() + random_id();
  if (auto kept = Provisioned::keep(caller, token, write_json(request, JsonStyle::Compact));
      !kept) {
    return tl::make_unexpected(PhaseFault{"backend_error", std::move(kept).error()});
  }
  return Node().set("sandboxId", Node(std::string(prefix->prefix) + ":" + token));
}

// What is left of a document's own request for this command; nothing is widened by it.
tl::expected<MxcRequest, PhaseFault> exec_request(const Node& document, const std::string& name,
                                                  const Provisioned& sandbox,
                                                  const Caller& caller) {
  constexpr std::array<std::string_view, 1> kKeys{"process"};
  if (auto bad = check_keys(document, "exec", kKeys)) return tl::make_unexpected(*bad);
  if (!sandbox.started()) {
    return tl::make_unexpected(fault("not_started", "the sandbox was not started"));
  }
  const Node* process = document.find("process");
  if (process == nullptr) {
    return tl::make_unexpected(fault("malformed_request", "exec needs \"process\""));
  }
  auto kept = sandbox.document();
  if (!kept) return tl::make_unexpected(PhaseFault{"backend_error", std::move(kept).error()});
  auto request = read_mxc_request(one_shot(*kept, *process), name, places_of(caller));
  if (!request) {
    return tl::make_unexpected(PhaseFault{"policy_validation", std::move(request).error()});
  }
  return std::move(*request);
}

int answer(const PhaseAnswer& done) {
  if (!done) {
    say_answer(envelope(done.error().code, done.error().error) + "\n");
    return kRequestError;
  }
  Node node;
  node.set("result", *done);
  return say_answer(write_json(node, JsonStyle::Compact) + "\n") ? 0 : kRequestError;
}

}  // namespace

int carry_out_phase(const Node& document, const std::string& name, const Caller& caller,
                    const Diagnostics& diagnostics, const PhaseOptions& options) {
  const std::string phase = text_of(document, "phase");
  if (std::ranges::find(kPhases, phase) == kPhases.end()) {
    return answer(tl::make_unexpected(fault("unsupported_phase", "unknown phase " + quote(phase))));
  }
  if (options.dry_run && phase != "exec") {
    return answer(tl::make_unexpected(
        fault("unsupported_phase", "there is no dry run of the phase " + phase)));
  }
  if (phase == "provision") return answer(provision(document, name, caller));
  const auto token = token_of(text_of(document, "sandboxId"));
  if (!token)
    return answer(tl::make_unexpected(fault("malformed_id", "no such kind of sandboxId")));
  auto sandbox = Provisioned::find(caller, *token);
  if (!sandbox) return answer(tl::make_unexpected(sandbox.error()));
  if (phase == "exec") {
    auto request = exec_request(document, name, *sandbox, caller);
    if (!request) return answer(tl::make_unexpected(request.error()));
    return execute({std::move(*request), options.dry_run, options.backend, ErrorsTo::Stdout},
                   caller, diagnostics);
  }
  if (auto bad = check_keys(document, phase, {})) return answer(tl::make_unexpected(*bad));
  if (phase == "start") return answer(sandbox->start());
  if (phase == "stop") return answer(sandbox->stop());
  return answer(sandbox->remove());
}

}  // namespace cordon::mxc
