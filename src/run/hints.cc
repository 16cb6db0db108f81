#include "run/hints.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "egress/own_addresses.h"
#include "policy/decide.h"
#include "run/answers.h"
#include "run/mentions.h"
#include "run/refused_calls.h"
#include "run/why.h"

namespace cordon {
namespace {

constexpr std::size_t kMostHints = 4;

// The links directly below "/" are the system's own: /bin is /usr/bin wherever one looks.
std::string without_top_link(const std::string& path) {
  const std::size_t end = path.find('/', 1);
  if (end == std::string::npos) return path;
  std::array<char, 256> target{};
  const ssize_t size = ::readlink(path.substr(0, end).c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return path;
  const std::string_view to(target.data(), static_cast<std::size_t>(size));
  return normalize((to.starts_with('/') ? std::string(to) : "/" + std::string(to)) +
                   path.substr(end));
}

std::string with_port(const MentionedHost& place) {
  const bool v6 = place.host.find(':') != std::string::npos;
  return (v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

// By what the policy says of the name: what exists outside does not count.
class ByPolicy {
 public:
  explicit ByPolicy(const JudgedRun& run) : run_(run) {}

  [[nodiscard]] std::optional<Hint> of(const MentionedPath& named) const {
    const std::string path = without_top_link(named.path);
    // What failed was the write: a right to read would not help.
    for (const Access access : {Access::Write, Access::Read}) {
      if (access == Access::Write && !named.written) continue;
      Verdict verdict = decide(run_.clamped, run_.survey.facts, run_.caller, access, path);
      if (verdict.allowed) continue;
      return Hint{access == Access::Read ? "read" : "write",
                  named.path,
                  std::move(verdict.rule),
                  {},
                  verdict.kind};
    }
    return std::nullopt;
  }
  // A word may be anything: it counts if a rule of somebody's own keeps a file of that name away.
  [[nodiscard]] std::optional<Hint> of(const std::string& name) const {
    auto hint = of(MentionedPath{name, false});
    const bool meant = hint && (hint->kind == HintRule::Denied || hint->kind == HintRule::Hidden);
    return meant ? hint : std::nullopt;
  }
  [[nodiscard]] std::optional<Hint> of(const MentionedHost& place) const {
    const auto own = own_addresses();
    if (!own) return std::nullopt;
    Verdict verdict = decide_connect(run_.clamped.effective().net, place.host, place.port, *own);
    if (verdict.allowed) return std::nullopt;
    return Hint{"connect", with_port(place), std::move(verdict.rule), {}, HintRule::Network};
  }

 private:
  const JudgedRun& run_;
};

// As `policy explain` answers, with what to change. Of paths only those that exist.
class ByHost {
 public:
  ByHost(const RunInput& input, const JudgedRun& run) : input_(input), run_(run) {}

  [[nodiscard]] std::optional<Hint> of(const MentionedPath& named) const {
    struct stat there {};
    const std::string place = named.written ? std::string(parent(named.path)) : named.path;
    if (::lstat(place.c_str(), &there) < 0) return std::nullopt;
    return named.written ? of_write(named.path) : explained(Question::Access::Read, named.path);
  }
  [[nodiscard]] std::optional<Hint> of(const std::string& name) const {
    return ByPolicy(run_).of(name) ? of(MentionedPath{name, false}) : std::nullopt;
  }
  [[nodiscard]] std::optional<Hint> of(const MentionedHost& place) const {
    return explained(Question::Access::Connect, with_port(place));
  }

 private:
  // A right to read would not help.
  [[nodiscard]] std::optional<Hint> of_write(const std::string& path) const {
    if (auto hint = explained(Question::Access::Write, path)) return hint;
    struct stat there {};
    const bool made = ::lstat(path.c_str(), &there) < 0;
    auto found = explain_hidden_place(input_, made ? std::string(parent(path)) : path, run_.caller);
    if (!found || found->allowed) return std::nullopt;
    return Hint{"write", path, std::move(found->rule), std::move(found->change)};
  }
  [[nodiscard]] std::optional<Hint> explained(Question::Access access,
                                              const std::string& target) const {
    auto found = explain_access(input_, {access, target}, run_.caller);
    if (!found || found->allowed) return std::nullopt;
    return Hint{std::string(name_of(access)), target, std::move(found->rule),
                std::move(found->change)};
  }

  const RunInput& input_;
  const JudgedRun& run_;
};

// A protected name may be written inside: the host keeps its own, or what appeared is moved away
// afterwards. Such a write fails only where a mount holds it.
bool failed_inside(const JudgedRun& run, const Hint& hint) {
  const bool is_protected = hint.kind == HintRule::Protected ||
                            hint.rule.starts_with("protected ") || hint.rule.starts_with("hold ");
  if (hint.access != "write" || !is_protected) return true;
  return std::ranges::any_of(run.plan.build, [&](const Op& operation) {
    const auto* hold = std::get_if<op::Hold>(&operation);
    return hold != nullptr && hold->access == MountAccess::ReadOnly &&
           contains(hold->path, hint.path);
  });
}

template <typename By>
std::vector<Hint> hints_by(const By& by, const JudgedRun& run, const Mentions& mentions) {
  std::vector<Hint> hints;
  const auto add = [&](const auto& mentioned) {
    for (const auto& one : mentioned) {
      if (hints.size() >= kMostHints) return;
      auto hint = by.of(one);
      if (hint && failed_inside(run, *hint)) hints.push_back(std::move(*hint));
    }
  };
  add(mentions.hosts);
  add(mentions.paths);
  add(mentions.names);
  return hints;
}

// chmod leaves a directory its setgid bit whatever mode it is given, and so asks for it. Looked at
// is what the command may write, and sees.
bool names_setgid_directory(const JudgedRun& run, const Mentions& mentions) {
  const auto has_bit = [&](const std::string& path) {
    struct stat there {};
    return decide(run.clamped, run.survey.facts, run.caller, Access::Write, path).allowed &&
           ::lstat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode) &&
           (there.st_mode & S_ISGID) != 0;
  };
  return std::ranges::any_of(mentions.names, has_bit) ||
         std::ranges::any_of(mentions.paths, has_bit, &MentionedPath::path);
}

std::vector<Hint> calls_by_filter(const JudgedRun& run, const std::vector<std::string>& argv,
                                  const std::vector<std::string>& messages,
                                  const Mentions& mentions) {
  const auto is_filter = [](const Op& operation) {
    return std::holds_alternative<op::InstallSeccomp>(operation);
  };
  if (!std::ranges::any_of(run.plan.confine, is_filter)) return {};
  std::vector<Hint> calls = refused_calls_in(argv, messages);
  const Hint mode = refused_owners_mode();
  if (sets_modes(argv) && std::ranges::find(calls, mode) == calls.end() &&
      names_setgid_directory(run, mentions)) {
    calls.insert(calls.begin(), mode);
  }
  return calls;
}

}  // namespace

std::vector<Hint> hints_for(const RunInput& input, const std::vector<std::string>& argv,
                            const JudgedRun& run, const Outcome& outcome,
                            const std::vector<Change>& changes) {
  const auto* exited = std::get_if<Exited>(&outcome.end);
  if (exited == nullptr || exited->code == 0) return {};
  std::vector<std::string> messages;
  for (const std::optional<Stream>* stream : {&outcome.err, &outcome.out}) {
    if (*stream) messages.push_back((*stream)->head + (*stream)->tail);
  }
  Mentions mentions = mentions_in(argv, messages, run.request.cwd, run.caller);
  const std::vector<Hint> calls = calls_by_filter(run, argv, messages, mentions);
  std::erase_if(mentions.paths, [&](const MentionedPath& named) {
    return std::ranges::any_of(changes, [&](const Change& change) {
      return change.state == Change::State::Lost && contains(change.path, named.path);
    });
  });
  // Nor is what was seen to be refused a guess.
  const auto was_seen = [&](const std::string& path) {
    return std::ranges::find(outcome.denials, path, &Denial::path) != outcome.denials.end();
  };
  std::erase_if(mentions.paths, [&](const MentionedPath& named) { return was_seen(named.path); });
  std::erase_if(mentions.names, [&](const std::string& name) {
    return was_seen(name) ||
           std::ranges::find(mentions.paths, name, &MentionedPath::path) != mentions.paths.end();
  });
  // The broker has seen every attempt and told what it refused; without a network a command may
  // fail before it makes one.
  if (run.clamped.effective().net.mode != NetMode::None) mentions.hosts.clear();
  std::erase_if(mentions.hosts, [&](const MentionedHost& place) {
    return std::ranges::any_of(outcome.denials, [&](const Denial& denial) {
      return denial.path.starts_with(place.host + ":");
    });
  });
  std::vector<Hint> hints = input.hints == HintsFrom::Host
                                ? hints_by(ByHost(input, run), run, mentions)
                                : hints_by(ByPolicy(run), run, mentions);
  // Of such a call it is sure that the filter refuses it.
  hints.insert(hints.begin(), calls.begin(), calls.end());
  if (hints.size() > kMostHints) hints.resize(kMostHints);
  return hints;
}

}  // namespace cordon
