// libseccomp, which every runtime gives the profile to, takes an action for a call that meets all
// conditions of a rule, one condition for each argument, and several rules for one call. So every
// rule about arguments is written as what it lets through. A set of numbers becomes the prefixes
// that cover it, as networks cover a range of addresses: a comparison with everything but one
// number would look at all 64 bits of an argument of which the kernel takes 32, and be passed by.
//
// What no rule lets through is answered ENOSYS, calls that are known and refused EPERM.
#include "compat/oci/seccomp_profile.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"

namespace cordon::oci {
namespace {

constexpr std::uint64_t kWhole = ~std::uint64_t{0};
constexpr std::uint64_t kInt = 0xffffffff;  // what the kernel takes of an argument that is an int
constexpr unsigned kIntBits = 32;
constexpr unsigned kArguments = 6;

// (argument & mask) == datum.
struct Condition {
  unsigned index = 0;
  std::uint64_t mask = kInt;
  std::uint64_t datum = 0;
  bool operator==(const Condition&) const = default;
};
using Rule = std::vector<Condition>;  // one for each argument at most; empty: always
using Rules = std::vector<Rule>;      // any of them

// The numbers from `first` to `last`, as prefixes.
void add_prefixes(unsigned index, std::uint64_t first, std::uint64_t last, Rules& rules) {
  while (first <= last) {
    unsigned bits = 0;
    while (bits < kIntBits && (first & ((std::uint64_t{2} << bits) - 1)) == 0 &&
           first + (std::uint64_t{2} << bits) - 1 <= last) {
      ++bits;
    }
    rules.push_back({{index, kInt & ~((std::uint64_t{1} << bits) - 1), first}});
    first += std::uint64_t{1} << bits;
  }
}

// Every number but those, which are in order.
Rules all_but(unsigned index, std::initializer_list<std::uint64_t> refused) {
  Rules rules;
  std::uint64_t next = 0;
  for (const std::uint64_t one : refused) {
    if (one > next) add_prefixes(index, next, one - 1, rules);
    next = one + 1;
  }
  add_prefixes(index, next, kInt, rules);
  return rules;
}

Rules one_of(unsigned index, std::initializer_list<std::uint64_t> allowed) {
  Rules rules;
  for (const std::uint64_t one : allowed) rules.push_back({{index, kInt, one}});
  return rules;
}

Rules without_bits(unsigned index, std::uint64_t bits) { return {{{index, bits, 0}}}; }

// The same rules as sandbox/native/argument_rules.cc, whose comments give the reasons.
constexpr std::uint64_t kNamespaceFlags = 0x7e020000;
constexpr std::uint64_t kOwnersRights = S_ISUID | S_ISGID;
constexpr std::uint64_t kCreates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
constexpr std::uint64_t kSocketTypeMask = 0xf;
constexpr std::uint64_t kFastOpenFlag = 0x20000000;
constexpr std::uint64_t kSetLease = 1024;
constexpr std::uint64_t kNetlinkRoute = 0;
constexpr std::uint64_t kNewListener = 8;  // SECCOMP_FILTER_FLAG_NEW_LISTENER

Rules opening(unsigned flags_index) {
  return {{{flags_index, kCreates, 0}}, {{flags_index + 1, kOwnersRights, 0}}};
}

Rules making_node(unsigned mode_index) {
  Rules rules;
  for (const std::uint64_t type : {std::uint64_t{S_IFSOCK}, std::uint64_t{S_IFIFO},
                                   std::uint64_t{S_IFREG}, std::uint64_t{0}}) {
    rules.push_back({{mode_index, S_IFMT | kOwnersRights, type}});
  }
  return rules;
}

Rules prctl_options() {
  constexpr std::pair<std::uint64_t, std::uint64_t> kAllowedOptions[] = {{1, 21},
                                                                         {23, 34},
                                                                         {36, 47},
                                                                         {50, 56},
                                                                         {60, 61},
                                                                         {63, 66},
                                                                         {74, 76},
                                                                         {0x41555856, 0x41555856},
                                                                         {0x53564d41, 0x53564d41}};
  Rules rules;
  for (const auto& [first, last] : kAllowedOptions) add_prefixes(0, first, last, rules);
  rules.push_back({{0, kInt, 22}, {1, kInt, 2}});  // PR_SET_SECCOMP, a filter
  return rules;
}

Rules seccomp_operations() {
  return {{{0, kInt, 1}, {1, kNewListener, 0}}, {{0, kInt, 0}}, {{0, kInt, 2}}, {{0, kInt, 3}}};
}

Rules sockets(const ProfileNeeds& needs) {
  std::vector<std::uint64_t> protocols = {IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP};
  if (needs.ping) protocols.insert(protocols.end(), {IPPROTO_ICMP, IPPROTO_ICMPV6});
  Rules rules;
  for (const std::uint64_t family : {std::uint64_t{AF_INET}, std::uint64_t{AF_INET6}}) {
    for (const std::uint64_t type : {std::uint64_t{SOCK_STREAM}, std::uint64_t{SOCK_DGRAM}}) {
      for (const std::uint64_t protocol : protocols) {
        rules.push_back({{0, kInt, family}, {1, kSocketTypeMask, type}, {2, kInt, protocol}});
      }
    }
  }
  rules.push_back({{0, kInt, AF_NETLINK}, {2, kInt, kNetlinkRoute}});
  if (!needs.local_sockets) return rules;
  for (const std::uint64_t type :
       {std::uint64_t{SOCK_STREAM}, std::uint64_t{SOCK_DGRAM}, std::uint64_t{SOCK_SEQPACKET}}) {
    rules.push_back({{0, kInt, AF_UNIX}, {1, kSocketTypeMask, type}});
  }
  return rules;
}

Rules socket_pairs() {
  return {{{0, kInt, AF_UNIX}, {1, kSocketTypeMask, SOCK_STREAM}},
          {{0, kInt, AF_UNIX}, {1, kSocketTypeMask, SOCK_SEQPACKET}}};
}

// What of a call is let through; nothing: none of it.
Rules own_rules(Decision decision, const ProfileNeeds& needs) {
  const Rules always = {Rule{}};
  switch (decision) {
    case Decision::Refuse:
    case Decision::Absent:
      return {};
    case Decision::Allow:
    // No broker answers these here, and no stage is told.
    case Decision::Broker:
    case Decision::Listen:
    case Decision::Rename:
    // These keep Cordon's own init from the command: in a container there is none.
    case Decision::OfProcess:
    case Decision::Priority:
    case Decision::IoPriority:
    // Of its options those are refused that lead past a broker.
    case Decision::SetSocketOption:
      return always;
    case Decision::Clone:
      return without_bits(0, kNamespaceFlags);
    case Decision::Fcntl:
      return all_but(1, {kSetLease});
    case Decision::Ioctl:
      return all_but(1, {0x5412, 0x541c, 0x541d, 0x5423});
    case Decision::MakeNode:
      return making_node(1);
    case Decision::MakeNodeAt:
      return making_node(2);
    case Decision::Mode:
      return without_bits(1, kOwnersRights);
    case Decision::ModeAt:
      return without_bits(2, kOwnersRights);
    case Decision::Open:
      return opening(1);
    case Decision::OpenAt:
      return opening(2);
    case Decision::Personality:
      return one_of(0, {0x0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff});
    case Decision::Prctl:
      return prctl_options();
    case Decision::Seccomp:
      return seccomp_operations();
    case Decision::SendTo:
    case Decision::SendMessages:
      return without_bits(3, kFastOpenFlag);
    case Decision::SendMessage:
      return without_bits(2, kFastOpenFlag);
    case Decision::Socket:
      return sockets(needs);
    case Decision::SocketPair:
      return socket_pairs();
  }
  return {};
}

// A condition of the engine's profile, which may compare in other ways.
struct Comparison {
  enum class How { Masked, NotEqual, Other };
  How how = How::Other;
  Condition condition;  // of NotEqual: the number that it must not be
};
using Alternative = std::vector<Comparison>;

struct EngineCall {
  std::vector<Alternative> allowed;
  std::vector<Alternative> refused;
};

struct EngineProfile {
  bool allows_by_default = true;
  std::map<std::string, EngineCall, std::less<>> calls;
};

Error malformed(std::string what) {
  return policy_error("linux.seccomp of config.json: " + std::move(what),
                      "give the container a profile of the runtime specification, or none: "
                      "Cordon's own is put on it in any case");
}

Result<bool> allows(const Node* action) {
  const std::string* word = action != nullptr ? action->text() : nullptr;
  if (word == nullptr) return fail(malformed("an action is missing"));
  if (*word == "SCMP_ACT_ALLOW" || *word == "SCMP_ACT_LOG") return true;
  for (const std::string_view refusing :
       {"SCMP_ACT_KILL", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_TRAP",
        "SCMP_ACT_ERRNO"}) {
    if (*word == refusing) return false;
  }
  return fail(malformed(quote(*word) + " hands calls to another process"));
}

std::optional<std::uint64_t> argument_number(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  if (member == nullptr) return std::uint64_t{0};
  const auto* number = std::get_if<std::int64_t>(&member->value);
  if (number == nullptr) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

Result<Comparison> comparison_of(const Node& node) {
  const auto index = argument_number(node, "index");
  const auto value = argument_number(node, "value");
  const auto second = argument_number(node, "valueTwo");
  const Node* op = node.find("op");
  if (!index || *index >= kArguments || !value || !second || op == nullptr ||
      op->text() == nullptr) {
    return fail(malformed("a condition cannot be read"));
  }
  Comparison made;
  made.condition.index = static_cast<unsigned>(*index);
  if (*op->text() == "SCMP_CMP_EQ") {
    made.how = Comparison::How::Masked;
    made.condition.mask = kWhole;
    made.condition.datum = *value;
  } else if (*op->text() == "SCMP_CMP_MASKED_EQ") {
    made.how = Comparison::How::Masked;
    made.condition.mask = *value;
    made.condition.datum = *second & *value;
  } else if (*op->text() == "SCMP_CMP_NE") {
    made.how = Comparison::How::NotEqual;
    made.condition.datum = *value;
  }
  return made;
}

Result<EngineProfile> engine_profile(const Node& node) {
  EngineProfile profile;
  for (const char* key : {"listenerPath", "listenerMetadata"}) {
    if (node.find(key) != nullptr) {
      return fail(malformed(std::string(key) + " hands calls to another process"));
    }
  }
  CORDON_TRY(by_default, allows(node.find("defaultAction")));
  profile.allows_by_default = by_default;
  const Node* calls = node.find("syscalls");
  if (calls == nullptr) return profile;
  if (calls->list() == nullptr) return fail(malformed("syscalls is not a list"));
  for (const Node& entry : *calls->list()) {
    CORDON_TRY(allowed, allows(entry.find("action")));
    Alternative conditions;
    std::vector<unsigned> seen;
    bool repeated = false;
    if (const Node* arguments = entry.find("args"); arguments != nullptr) {
      if (arguments->list() == nullptr) return fail(malformed("args is not a list"));
      for (const Node& argument : *arguments->list()) {
        CORDON_TRY(one, comparison_of(argument));
        const unsigned index = one.condition.index;
        repeated = repeated || std::ranges::find(seen, index) != seen.end();
        seen.push_back(index);
        conditions.push_back(one);
      }
    }
    const Node* names = entry.find("names");
    if (names == nullptr || names->list() == nullptr) {
      return fail(malformed("an entry has no names"));
    }
    for (const Node& name : *names->list()) {
      if (name.text() == nullptr) return fail(malformed("a name is not a text"));
      EngineCall& call = profile.calls[*name.text()];
      auto& list = allowed ? call.allowed : call.refused;
      // Runtimes take several conditions on one argument as one rule each.
      if (repeated) {
        for (const Comparison& one : conditions) list.push_back({one});
      } else {
        list.push_back(conditions);
      }
    }
  }
  return profile;
}

Condition* condition_on(Rule& rule, unsigned index) {
  const auto found = std::ranges::find(rule, index, &Condition::index);
  return found == rule.end() ? nullptr : &*found;
}

bool contradict(const Condition& a, const Condition& b) {
  return ((a.datum ^ b.datum) & a.mask & b.mask) != 0;
}

// What both let through; nothing also where that cannot be said in one rule.
std::optional<Rule> both(Rule rule, const Alternative& engine) {
  for (const Comparison& comparison : engine) {
    Condition* own = condition_on(rule, comparison.condition.index);
    switch (comparison.how) {
      case Comparison::How::Other:
        return std::nullopt;
      case Comparison::How::NotEqual:
        if (own == nullptr || (comparison.condition.datum & own->mask) == own->datum) {
          return std::nullopt;
        }
        break;
      case Comparison::How::Masked:
        if (own == nullptr) {
          rule.push_back(comparison.condition);
          break;
        }
        if (contradict(*own, comparison.condition)) return std::nullopt;
        own->mask |= comparison.condition.mask;
        own->datum |= comparison.condition.datum;
        break;
    }
  }
  return rule;
}

// Whether no call that `rule` lets through meets `refused`.
bool apart(Rule rule, const Alternative& refused) {
  return std::ranges::any_of(refused, [&](const Comparison& comparison) {
    const Condition* own = condition_on(rule, comparison.condition.index);
    if (own == nullptr) return false;
    switch (comparison.how) {
      case Comparison::How::Masked:
        return contradict(*own, comparison.condition);
      case Comparison::How::NotEqual:
        return own->mask == kWhole && own->datum == comparison.condition.datum;
      case Comparison::How::Other:
        return false;
    }
    return false;
  });
}

Rules with_engine(const Rules& own, std::string_view name, const EngineProfile* engine) {
  if (engine == nullptr) return own;
  const auto found = engine->calls.find(name);
  if (found == engine->calls.end()) return engine->allows_by_default ? own : Rules{};
  std::vector<Alternative> allowed = found->second.allowed;
  if (allowed.empty() && engine->allows_by_default) allowed.emplace_back();
  Rules result;
  for (const Rule& rule : own) {
    for (const Alternative& alternative : allowed) {
      std::optional<Rule> joined = both(rule, alternative);
      if (!joined || std::ranges::find(result, *joined) != result.end()) continue;
      const bool clear =
          std::ranges::all_of(found->second.refused,
                              [&](const Alternative& refused) { return apart(*joined, refused); });
      if (clear) result.push_back(*std::move(joined));
    }
  }
  const auto is_always = [](const Rule& rule) { return rule.empty(); };
  if (std::ranges::any_of(result, is_always)) return {Rule{}};
  return result;
}

Node arguments_node(const Rule& rule) {
  NodeList list;
  for (const Condition& condition : rule) {
    Node node{NodeMap{}};
    node.set("index", Node(static_cast<int>(condition.index)));
    if (condition.mask == kWhole) {
      node.set("value", Node(condition.datum)).set("op", "SCMP_CMP_EQ");
    } else {
      node.set("value", Node(condition.mask)).set("valueTwo", Node(condition.datum));
      node.set("op", "SCMP_CMP_MASKED_EQ");
    }
    list.push_back(std::move(node));
  }
  return list;
}

Node entry_node(NodeList names, std::string_view action) {
  return Node().set("names", std::move(names)).set("action", action);
}

}  // namespace

Result<Node> narrowed_profile(Arch arch, const ProfileNeeds& needs, const Node* engine) {
  std::optional<EngineProfile> given;
  if (engine != nullptr) {
    CORDON_TRY(profile, engine_profile(*engine));
    given = std::move(profile);
  }
  NodeList always;
  NodeList refused;
  NodeList entries;
  for (const KnownSyscall& call : known_syscalls()) {
    if (!call.number(arch)) continue;
    const Rules rules =
        with_engine(own_rules(call.decision, needs), call.name, given ? &*given : nullptr);
    if (rules.empty()) {
      if (call.decision != Decision::Absent) refused.emplace_back(call.name);
    } else if (rules.front().empty()) {
      always.emplace_back(call.name);
    } else {
      for (const Rule& rule : rules) {
        entries.push_back(
            entry_node({Node(call.name)}, "SCMP_ACT_ALLOW").set("args", arguments_node(rule)));
      }
    }
  }
  entries.insert(entries.begin(),
                 entry_node(std::move(refused), "SCMP_ACT_ERRNO").set("errnoRet", Node(EPERM)));
  entries.insert(entries.begin(), entry_node(std::move(always), "SCMP_ACT_ALLOW"));
  Node profile{NodeMap{}};
  profile.set("defaultAction", "SCMP_ACT_ERRNO").set("defaultErrnoRet", Node(ENOSYS));
  profile.set("architectures",
              NodeList{Node(arch == Arch::X86_64 ? "SCMP_ARCH_X86_64" : "SCMP_ARCH_AARCH64")});
  return profile.set("syscalls", std::move(entries));
}

}  // namespace cordon::oci
