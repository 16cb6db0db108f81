#include "audit/redactor.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "config/policy_document.h"
#include "policy/approval.h"
#include "policy/presets.h"

namespace cordon::audit {
namespace {

// Every system has these; their names tell nothing.
constexpr std::array<std::string_view, 31> kPublic{
    "/",        "/bin",     "/boot",    "/dev",       "/etc",       "/gnu/store", "/home",
    "/lib",     "/lib64",   "/media",   "/mnt",       "/nix/store", "/opt",       "/proc",
    "/root",    "/run",     "/sbin",    "/snap",      "/srv",       "/sys",       "/tmp",
    "/usr",     "/usr/bin", "/usr/lib", "/usr/local", "/usr/share", "/var",       "/var/cache",
    "/var/lib", "/var/log", "/var/tmp"};
constexpr std::size_t kShown = 16;  // hexadecimal digits of a hash in a label

bool is_plain(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// Lengths stand before the parts, so that {"a", "b"} and {"a\0b"} differ.
std::string joined(std::span<const std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    text.append(std::to_string(part.size())).append(":").append(part);
  }
  return text;
}

struct EndingOf {
  Closing& closing;
  void operator()(const Exited& end) const {
    closing.ending = end.code == 0 ? Ending::Success : Ending::Exit;
    closing.exit_code = end.code;
  }
  void operator()(const Signaled& end) const {
    closing.ending = Ending::Signal;
    closing.signal = end.signal;
  }
  void operator()(const TimedOut&) const { closing.ending = Ending::Timeout; }
  void operator()(const OverLimit&) const { closing.ending = Ending::Limit; }
  void operator()(const Cancelled& end) const {
    closing.ending = Ending::Cancelled;
    if (end.signal != 0) closing.signal = end.signal;
  }
};

}  // namespace

std::string path_hash(const Key& key, std::string_view canonical) {
  return to_hex(keyed(key, "path", canonical)).substr(0, kShown);
}

Redactor::Redactor(const Key& key, const Caller& caller) : key_(key) {
  const auto add = [this](const std::string& path, const char* name) {
    if (!path.empty() && path.front() == '/' && path != "/") roots_.push_back({path, name});
  };
  add(caller.config_directory, "@config");
  add(caller.state_directory, "@state");
  for (const std::string& home : caller.homes) add(home, "@home");
  add(caller.home, "@home");
  for (const std::string_view path : kPublic) {
    roots_.push_back({std::string(path), std::string(path)});
  }
  project_roots_ = roots_;
  if (!caller.cwd.empty()) project_roots_.push_back({caller.cwd, "@cwd"});
  // Of two names for one directory the one that tells less stands first.
  const auto order = [](const Root& a, const Root& b) {
    if (a.path.size() != b.path.size()) return a.path.size() > b.path.size();
    return (a.name.front() == '@') > (b.name.front() == '@');
  };
  std::ranges::stable_sort(roots_, order);
  std::ranges::stable_sort(project_roots_, order);
}

Label Redactor::hashed(std::string_view use, std::string_view text) const {
  return Label("#" + to_hex(keyed(key_, use, text)).substr(0, kShown));
}

Label Redactor::below(const std::vector<Root>& roots, std::string_view canonical) const {
  if (canonical.empty()) return {};
  const std::string path = normalize(canonical);
  for (const Root& root : roots) {
    if (!contains(root.path, path)) continue;
    if (root.path == path) return Label(root.name);
    const std::string name = root.name == "/" ? std::string() : root.name;
    return Label(name + "/#" + path_hash(key_, path));
  }
  return hashed("path", path);
}

Label Redactor::path(std::string_view canonical) const { return below(project_roots_, canonical); }

Label Redactor::place(std::string_view canonical) const { return below(roots_, canonical); }

Label Redactor::word(std::string_view text) const {
  if (text.empty()) return {};
  return is_plain(text) ? Label(std::string(text)) : hashed("word", text);
}

Label Redactor::argv(std::span<const std::string> argv) const {
  if (argv.empty()) return {};
  return Label(to_hex(keyed(key_, "argv", joined(argv))));
}

CeilingMark Redactor::ceiling(const Ceiling& ceiling) const {
  CeilingMark mark;
  std::string content = write_json(encode_policy(ceiling.policy), JsonStyle::Compact)
                            .append(cordon::name_of(ceiling.audit.on_failure));
  const auto add = [&](const KeepBounds& keep, std::string_view title) {
    const auto note = [&](std::string_view key, const std::optional<std::uint64_t>& value) {
      if (value) content.append(title).append(key).append(std::to_string(*value));
    };
    note("_days ", keep.days);
    note("_size ", keep.bytes);
  };
  add(ceiling.audit.keep, " keep");
  add(ceiling.keep, " state");
  if (const Node ask = encode_ask(ceiling.ask); ask.map() != nullptr) {
    content += write_json(ask, JsonStyle::Compact);
  }
  mark.hash = Label(to_hex(keyed(key_, "ceiling", content)));
  mark.id = ceiling.id.starts_with('/') ? place(ceiling.id) : word(ceiling.id);
  return mark;
}

std::vector<Label> Redactor::grants(const std::vector<Grant>& grants) const {
  std::vector<Label> labels;
  for (const Grant& grant : grants) {
    switch (grant.source) {
      case Grant::Source::System:
        labels.push_back(Label("@system"));
        break;
      case Grant::Source::Toolchain:
        labels.push_back(Label("@toolchains"));
        break;
      case Grant::Source::Cache:
        labels.push_back(Label("@caches"));
        break;
      case Grant::Source::Policy:
      case Grant::Source::Repository:
      case Grant::Source::GitDirectory:
        labels.push_back(path(grant.path));
        break;
    }
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

Label Redactor::policy_name(const Policy& policy) const {
  return is_preset(policy.name) ? Label(policy.name) : hashed("policy", policy.name);
}

Pending Redactor::pending(const Action& action) const {
  Pending pending;
  pending.action = word(action.name);
  pending.cwd = place(action.cwd);
  pending.resource = action.path.empty() ? pending.cwd : path(action.path);
  if (!action.host.empty()) pending.resource = hashed("connection", action.host);
  pending.tool = word(action.tool);
  pending.tool_call_id = word(action.tool_call_id);
  pending.session = word(action.session);
  pending.agent = word(action.agent);
  pending.conversation = word(action.conversation);
  pending.backend = word(action.backend);
  pending.argv_hash = argv(action.argv);
  pending.argc = action.argv.size();
  for (const Ceiling& bound : action.ceilings) pending.ceilings.push_back(ceiling(bound));
  for (const Reduction& one : action.reductions) {
    pending.reductions.push_back({word(one.what), Label(std::string(cordon::name_of(one.because))),
                                  hashed("reduction", one.asked)});
  }
  // A hash that the report shows too; whatever else stands in its place is hashed.
  const bool is_hash =
      action.policy_hash.starts_with("sha256:") && is_plain(action.policy_hash.substr(7));
  if (is_hash) {
    pending.policy_hash = Label(action.policy_hash);
  } else if (!action.policy_hash.empty()) {
    pending.policy_hash = hashed("policy", action.policy_hash);
  }
  if (action.request != nullptr) {
    const RequestAction& request = *action.request;
    RequestMark& mark = pending.request.emplace();
    mark.rule = Label(request.rule);
    mark.method = word(request.method);
    if (!request.path.empty()) mark.path_hash = hashed("request", request.path);
    mark.secret = word(request.secret);
    mark.run = word(request.run);
  }
  if (action.policy != nullptr) {
    pending.policy = policy_name(*action.policy);
    pending.net = Label(std::string(cordon::name_of(action.policy->net.mode)));
    pending.timeout_ms = action.policy->limits.wall_ms;
  }
  if (action.effective != nullptr) {
    pending.read = grants(action.effective->read);
    pending.write = grants(action.effective->write);
    pending.net = Label(std::string(cordon::name_of(action.effective->net.mode)));
    pending.timeout_ms = action.effective->limits.wall_ms;
    for (const std::string& id : approvals_used(action.approved, *action.effective)) {
      pending.approvals.push_back(word(id));
    }
  }
  return pending;
}

ConnectionMark Redactor::connection(const Connection& tried) const {
  const std::string& host = tried.host.empty() ? tried.address : tried.host;
  ConnectionMark mark;
  mark.destination_hash = hashed("connection", host + ":" + std::to_string(tried.port));
  mark.allowed = tried.allowed;
  mark.count = tried.count;
  mark.sent = tried.sent;
  mark.received = tried.received;
  if (host.starts_with('/')) {  // a local socket, whose rule is its path
    mark.address = path(host);
    mark.rule = Label("net.sockets");
    return mark;
  }
  mark.port = tried.port;
  mark.rule = Label(tried.rule);
  if (tried.allowed) mark.address = Label(tried.address);
  return mark;
}

Closing Redactor::closing(const Outcome& outcome, std::span<const Change> changes) const {
  Closing closing;
  std::visit(EndingOf{closing}, outcome.end);
  closing.duration_ms = outcome.duration_ms;
  if (outcome.out) closing.stdout_bytes = outcome.out->bytes;
  if (outcome.err) closing.stderr_bytes = outcome.err->bytes;
  closing.truncated =
      (outcome.out && outcome.out->truncated()) || (outcome.err && outcome.err->truncated());
  for (const Denial& denial : outcome.denials) {
    // The rule about a file may name the file.
    const bool host = denial.access == "connect";
    const Label rule = host ? Label(denial.rule)
                            : word(std::string_view(denial.rule).substr(0, denial.rule.find(' ')));
    closing.denials.push_back({word(denial.what), word(denial.layer),
                               hashed("denial", denial.detail), denial.count, rule});
  }
  for (const Connection& tried : outcome.connections) {
    closing.connections.push_back(connection(tried));
  }
  for (const Published& port : outcome.published) {
    closing.published.push_back({port.host_port, port.connections, port.sent, port.received});
  }
  closing.handoffs = outcome.handoff.size();
  for (const Change& change : changes) {
    if (change.state == Change::State::Held) ++closing.held;
    if (change.state == Change::State::Lost) ++closing.lost;
    if (change.state == Change::State::Conflict) ++closing.conflicts;
  }
  return closing;
}

Closing Redactor::refusal(const Error& error) {
  Closing closing;
  closing.ending = Ending::Refused;
  closing.error_kind = error.kind;
  return closing;
}

}  // namespace cordon::audit
