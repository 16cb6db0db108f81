#include "policy/refusal.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "policy/clamp.h"
#include "policy/clamp_net.h"
#include "policy/cure.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

using Because = Reduction::Because;
using Ceilings = std::span<const ResolvedCeiling>;
using Takers = std::vector<const ResolvedCeiling*>;

// One thing that is refused: a clause, and what to type or change.
struct Refused {
  std::string what;
  std::string hint;
};

// What is told of each is found by going through all that was asked for and every ceiling; more
// than a screen of them nobody reads.
constexpr std::size_t kMostRefusedTold = 20;

template <typename Takes>
Takers takers_of(Ceilings ceilings, Takes takes) {
  Takers takers;
  for (const ResolvedCeiling& ceiling : ceilings) {
    if (takes(ceiling)) takers.push_back(&ceiling);
  }
  return takers;
}

std::string titles(const Takers& takers) {
  std::string text;
  for (const ResolvedCeiling* taker : takers) {
    text.append(text.empty() ? "" : " and ").append(title_of(taker->ceiling));
  }
  return text;
}

template <typename Cure>
std::string cures(const Takers& takers, Cure cure) {
  std::string text;
  for (const ResolvedCeiling* taker : takers)
    text.append(text.empty() ? "" : "; ").append(cure(*taker));
  return text;
}

// What no line of the ceiling says: that a table is missing is a bound as well.
std::string if_without_net(const Takers& takers) {
  const bool without = std::ranges::any_of(takers, [](const ResolvedCeiling* taker) {
    const Policy& most = taker->ceiling.policy;
    return !most.file.empty() && most.net == NetRules{};
  });
  return without ? " (a ceiling without [net] permits nothing of the network)" : "";
}

std::string does_not(const Takers& takers) {
  return takers.size() == 1 ? " does not " : " do not ";
}

// Whether a place was asked for and nothing in or around it is left.
bool is_lost(const std::string& place, const Resolved& request, const Effective& effective) {
  const auto asks = [&](const Grant& grant) {
    return grant.source == Grant::Source::Policy && contains(grant.path, place);
  };
  const auto remains = [&](const Grant& grant) {
    return !is_baseline(grant) && (contains(grant.path, place) || contains(place, grant.path));
  };
  if (request.keep == Keep::Writable && place == request.start) {
    return std::ranges::none_of(effective.write,
                                [&](const Grant& grant) { return contains(grant.path, place); });
  }
  const bool asked =
      std::ranges::any_of(request.read, asks) || std::ranges::any_of(request.write, asks);
  return asked && std::ranges::none_of(effective.read, remains) &&
         std::ranges::none_of(effective.write, remains);
}

// Where the command starts, and what "@cwd" stands for: the two differ if it starts elsewhere.
std::vector<std::string> working_directories(const Resolved& request) {
  std::vector<std::string> places;
  if (request.start.empty()) return places;
  places.push_back(request.start);
  for (const auto* grants : {&request.write, &request.read}) {
    for (const Grant& grant : *grants) {
      const bool known = std::ranges::find(places, grant.path) != places.end();
      if (grant.written == "@cwd" && !known) places.push_back(grant.path);
    }
  }
  return places;
}

Refused lost_place(const std::string& place, const Resolved& request, Ceilings ceilings) {
  const PathMode mode = PathModes(request.read, request.write).at(place);
  const bool to_write = request.keep == Keep::Writable && place == request.start;
  if (to_write && mode != PathMode::Write) {
    return {"the working directory " + quote(place) +
                " is not writable: " + quote(request.policy.name) + " does not ask for that",
            "use a policy such as agent, which has write = [\"@cwd\"] below [fs]"};
  }
  const std::string what =
      "the working directory " + quote(place) + ", which " + quote(request.policy.name) +
      " asks to " + (mode == PathMode::Write ? "write" : "read") + ", is outside what is granted: ";
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    const PathMode most = PathModes(ceiling.read, ceiling.write).at(place);
    return to_write ? most != PathMode::Write : most == PathMode::None;
  });
  if (takers.empty()) {
    const Takers denying = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
      return protection_bound_of(ceiling, place) == ProtectionBound::Denied;
    });
    if (denying.empty()) {
      return {what + "it is protected, since the host runs what lies there",
              "change into another directory"};
    }
    return {what + "a deny of " + titles(denying) + " covers it",
            "take the entry out of [fs] deny there, or change into another directory"};
  }
  return {what + titles(takers) + does_not(takers) + (to_write ? "let it be written" : "cover it"),
          cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_path(ceiling, place, mode);
          })};
}

// The rules of one list that an option wrote, for the path that the reduction is about.
const Grant* granted_to_option(const std::vector<Grant>& grants, const Reduction& reduction) {
  for (const Grant& named : grants) {
    if (named.written != reduction.asked) continue;
    for (const Grant& grant : grants) {
      if (grant.origin == Origin::Option && grant.path == named.path) return &grant;
    }
  }
  return nullptr;
}

// Dropped before it could become a grant.
Refused dropped_path(const Reduction& reduction) {
  const std::string option = "--" + reduction.what + " " + quote(reduction.asked);
  if (reduction.because == Because::Nonexistent) {
    return {option + " names nothing that is there, so it cannot be granted",
            "make it first, or correct the spelling"};
  }
  if (reduction.asked == "@cwd") {
    return {option + ": the current directory is not a project directory",
            "change into a project, or name a directory"};
  }
  return {option + " holds credentials, which no option grants", "leave the option out"};
}

Refused protected_path(const std::string& option, const Grant& grant, const Resolved& request,
                       Ceilings ceilings) {
  if (const ProtectedName* name = held_place(grant.path, request.held)) {
    const bool itself = held_name(grant.path, request.held) != nullptr;
    const std::string place = itself ? "" : " lies in " + quote(name->name) + " and";
    // Each mechanism keeps it from the host in its own way, and none lets it through.
    const bool in_grant = std::ranges::any_of(request.write, [&](const Grant& other) {
      return other.path != grant.path && contains(other.path, grant.path);
    });
    return {option + place + " cannot be granted: " + std::string(name->reason) +
                ", so it is never more than readable",
            in_grant ? "leave the option out; what a command gets to write there is held back, and "
                       "cordon changes shows and takes it"
                     : "make the change outside the sandbox"};
  }
  if (is_in_agent_directory(grant.path, request.held)) {
    return {option +
                " cannot be granted: an agent outside runs what lies there, so it is never "
                "more than readable",
            "leave the option out"};
  }
  if (is_in_git_part(grant.path, request.held)) {
    return {option +
                " cannot be granted: it lies in a git directory, and git outside runs what is "
                "there, so it is never more than readable",
            "leave the option out, or name the work tree"};
  }
  const Takers denying = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return protection_bound_of(ceiling, grant.path) == ProtectionBound::Denied;
  });
  if (!denying.empty()) {
    return {option + " is outside what is granted: a deny of " + titles(denying) + " covers it",
            "leave the option out, or take the entry out of [fs] deny there"};
  }
  const Takers holding = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return protection_bound_of(ceiling, grant.path) == ProtectionBound::Protected;
  });
  return {option + " cannot be granted: the host runs what lies there, and " + titles(holding) +
              does_not(holding) + "name it",
          "leave the option out, or " + cures(holding, [&](const ResolvedCeiling& ceiling) {
            return cure_for_path(ceiling, grant.path, PathMode::Write);
          })};
}

// Whether a ceiling takes anything of a rule for `path`: the path itself, or the right to write
// something in it that the request says nothing else about.
bool takes(const ResolvedCeiling& ceiling, const Resolved& request, const std::string& path,
           PathMode mode) {
  const PathModes most(ceiling.read, ceiling.write);
  if (most.at(path) < mode) return true;
  if (mode != PathMode::Write) return false;
  const PathModes asked(request.read, request.write);
  return std::ranges::any_of(most.entries(), [&](const auto& entry) {
    return contains(path, entry.first) && entry.second.mode < PathMode::Write &&
           asked.deepest(entry.first)->grant->path == path;
  });
}

Refused refused_path(const Reduction& reduction, const Resolved& request, Ceilings ceilings) {
  const bool writes = reduction.what == "write";
  const Grant* grant = granted_to_option(writes ? request.write : request.read, reduction);
  if (grant == nullptr) return dropped_path(reduction);
  const std::string option = "--" + reduction.what + " " + quote(grant->written);
  if (is_baseline(*grant)) {
    const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
      return std::ranges::any_of(request.read, [&](const Grant& one) {
        return one.source == grant->source && takes(ceiling, request, one.path, PathMode::Read);
      });
    });
    return {option + " is outside what is granted: " + titles(takers) + does_not(takers) +
                "cover all of it",
            "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
              return cure_for_group(ceiling.ceiling, grant->written);
            })};
  }
  const auto same = [&](const Grant& other) {
    return !is_baseline(other) && other.path == grant->path;
  };
  if (writes && std::ranges::any_of(request.read, same)) {
    return {option + " contradicts a rule of " + quote(request.policy.name) +
                " or of --read, which grants the same path for reading",
            "leave one of them out: of two rules for one path the stricter holds"};
  }
  if (reduction.because == Because::Forbidden) {
    return protected_path(option, *grant, request, ceilings);
  }
  const PathMode mode = writes ? PathMode::Write : PathMode::Read;
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return takes(ceiling, request, grant->path, mode);
  });
  std::string what = option;
  if (grant->path != grant->lexical) what += ", which leads to " + quote(grant->path) + ",";
  return {what + " is outside what is granted: " + titles(takers) + does_not(takers) +
              (writes ? "let all of it be written" : "cover it"),
          "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_path(ceiling, grant->path, mode);
          })};
}

Refused refused_request(const HostRule& endpoint, const RequestPattern& pattern,
                        const Resolved& request, Ceilings ceilings) {
  const std::string option = option_for_request(endpoint, pattern);
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return !permits_request(ceiling.ceiling, endpoint, pattern);
  });
  if (takers.empty()) {
    return {option + " is denied by " + quote(request.policy.name),
            "leave the option out, or take the deny out where it was written"};
  }
  return {
      option + " is outside what is granted: " + titles(takers) + does_not(takers) + "permit it",
      "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
        return cure_for_request(ceiling.ceiling, endpoint, pattern);
      })};
}

// A ceiling has rules for requests to the host, so that no connection leads there end to end.
std::optional<Refused> requests_alone(const HostRule& host, const Resolved& request,
                                      Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return narrowed_to_requests(host, request.policy.net, ceiling.ceiling.policy.net) != nullptr;
  });
  if (takers.empty()) return std::nullopt;
  const NetRules& net = takers.front()->ceiling.policy.net;
  const HostRule* endpoint = narrowed_to_requests(host, request.policy.net, net);
  const HttpRule* rule = find_http_rule(net, *endpoint);
  const std::string what = "--allow " + quote(to_string(host)) +
                           " is outside what is granted: " + titles(takers) +
                           (takers.size() == 1 ? " lets " : " let ") + to_string(*endpoint) +
                           " be reached by requests alone";
  if (rule->allow.empty()) return Refused{what, "leave the option out"};
  return Refused{what,
                 "write " + option_for_request(*endpoint, rule->allow.front()) + " in its place"};
}

Refused refused_host(const HostRule& host, Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return !permits_host(ceiling.ceiling, host);
  });
  return {"--allow " + quote(to_string(host)) + " is outside what is granted: " + titles(takers) +
              does_not(takers) + "cover it" + if_without_net(takers),
          "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_host(ceiling.ceiling, host);
          })};
}

Refused denied_host(const Reduction& reduction, const Resolved& request, Ceilings ceilings) {
  const auto host = parse_host_rule(reduction.asked);
  const auto denies = [&](const HostRule& deny) { return host && covers(deny, *host); };
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return std::ranges::any_of(ceiling.ceiling.policy.net.deny, denies);
  });
  const std::string by = takers.empty() ? quote(request.policy.name) : titles(takers);
  return {"--allow " + quote(reduction.asked) + " is denied by " + by,
          "leave the option out, or take the host out of [net] deny there"};
}

Refused refused_mode(const Reduction& reduction, Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [](const ResolvedCeiling& ceiling) {
    return ceiling.ceiling.bounds_net && ceiling.ceiling.policy.net.mode != NetMode::Open;
  });
  return {"--net " + reduction.asked + " is more than " + titles(takers) +
              (takers.size() == 1 ? " permits" : " permit") + if_without_net(takers),
          "leave the option out, or " + cures(takers, [](const ResolvedCeiling& ceiling) {
            return cure_for_open_network(ceiling.ceiling);
          })};
}

Refused refused_port(const PublishRule& port, Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return !permits_port(ceiling.ceiling, port);
  });
  return {"--publish " + to_string(port) + " is outside what is granted: " + titles(takers) +
              does_not(takers) + "list it" + if_without_net(takers),
          "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_port(ceiling.ceiling, port);
          })};
}

Refused refused_ssh_agent(Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [](const ResolvedCeiling& ceiling) {
    return !ceiling.ceiling.policy.net.ssh_agent;
  });
  return {
      "--ssh-agent is outside what is granted: " + titles(takers) + does_not(takers) + "permit it",
      "leave the option out, or " + cures(takers, [](const ResolvedCeiling& ceiling) {
        return cure_for_ssh_agent(ceiling.ceiling);
      })};
}

Refused refused_socket(const Reduction& reduction, const Resolved& request, Ceilings ceilings) {
  const std::string option = "--socket " + quote(reduction.asked);
  const Grant* socket = granted_to_option(request.sockets, reduction);
  if (socket == nullptr) {
    return {option + " names no socket that is there",
            "start its service first, or correct the spelling"};
  }
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    return !detail::permits_socket(ceiling, *socket);
  });
  return {option + " is outside what is granted: " + titles(takers) + does_not(takers) + "list it" +
              if_without_net(takers),
          "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_socket(ceiling.ceiling, socket->path);
          })};
}

Refused refused_variable(const Reduction& reduction, Ceilings ceilings) {
  const std::string option = "--env " + quote(reduction.asked);
  if (reduction.because != Because::OutsideCeiling) {
    return {option + " cannot be passed on", "leave the option out"};
  }
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    const EnvRules& env = ceiling.ceiling.policy.env;
    return ceiling.ceiling.bounds_env && !env.set.contains(reduction.asked) &&
           std::ranges::find(env.pass, reduction.asked) == env.pass.end();
  });
  return {option + " is outside what is granted: " + titles(takers) + does_not(takers) + "name it",
          "leave the option out, or " + cures(takers, [&](const ResolvedCeiling& ceiling) {
            return cure_for_variable(ceiling.ceiling, reduction.asked);
          })};
}

std::string more_than(std::string_view option, const Reduction& reduction, const Takers& takers) {
  return std::string(option) + " " + reduction.asked + " is more than the " + *reduction.got +
         " that " + titles(takers) + (takers.size() == 1 ? " permits" : " permit");
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kLimitOptions{
    {{"wall", "--timeout"},
     {"memory", "--memory"},
     {"pids", "--pids"},
     {"files", "--files"},
     {"cpus", "--cpus"},
     {"output", "--output-limit"}}};

Refused refused_limit(const LimitField& field, const Reduction& reduction, const Resolved& request,
                      Ceilings ceilings) {
  const std::uint64_t asked = (request.policy.limits.*field.member).value_or(0);
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    const auto& bound = ceiling.ceiling.policy.limits.*field.member;
    return bound && *bound < asked;
  });
  std::string_view option = field.key;
  for (const auto& [key, name] : kLimitOptions) {
    if (key == field.key) option = name;
  }
  return {more_than(option, reduction, takers),
          "ask for at most " + *reduction.got + ", or " +
              cures(takers, [&](const ResolvedCeiling& ceiling) {
                return cure_for_limit(ceiling.ceiling, field, asked);
              })};
}

Refused refused_scratch(const Reduction& reduction, const Resolved& request, Ceilings ceilings) {
  const std::uint64_t asked = request.policy.fs.scratch.value_or(0);
  const Takers takers = takers_of(ceilings, [&](const ResolvedCeiling& ceiling) {
    const auto& bound = ceiling.ceiling.policy.fs.scratch;
    return bound && *bound < asked;
  });
  return {more_than("--scratch", reduction, takers),
          "ask for at most " + *reduction.got + ", or " +
              cures(takers, [&](const ResolvedCeiling& ceiling) {
                return cure_for_scratch(ceiling.ceiling, asked);
              })};
}

Refused refused_stage(const Reduction& reduction, Ceilings ceilings) {
  const Takers takers = takers_of(ceilings, [](const ResolvedCeiling& ceiling) {
    return ceiling.ceiling.stage == StageEnd::Review;
  });
  return {"--stage=" + reduction.asked + " applies what a run changed, and " + titles(takers) +
              (takers.size() == 1 ? " has" : " have") + " stage = \"review\"",
          "write --stage=review, or --stage alone"};
}

void add_refused(const Reduction& reduction, const Resolved& request, Ceilings ceilings,
                 std::vector<Refused>& refused) {
  if (reduction.what == "read" || reduction.what == "write") {
    refused.push_back(refused_path(reduction, request, ceilings));
  } else if (reduction.what == "net" && request.policy.options.net) {
    refused.push_back(refused_mode(reduction, ceilings));
  } else if (reduction.what == "net") {
    for (const HostRule& host : request.policy.options.allow) {
      if (refused.size() < kMostRefusedTold) refused.push_back(refused_host(host, ceilings));
    }
    for (const HttpRule& rule : request.policy.options.http) {
      if (refused.size() >= kMostRefusedTold) break;
      refused.push_back(refused_request(rule.host, rule.allow.front(), request, ceilings));
    }
  } else if (reduction.what == "http") {
    for (const HttpRule& rule : request.policy.options.http) {
      const RequestPattern& pattern = rule.allow.front();
      if (pattern.method + " " + to_string(rule.host) + pattern.path != reduction.asked) continue;
      refused.push_back(refused_request(rule.host, pattern, request, ceilings));
    }
  } else if (reduction.what == "allow" && reduction.because == Because::Forbidden) {
    refused.push_back(denied_host(reduction, request, ceilings));
  } else if (reduction.what == "allow") {
    for (const HostRule& host : request.policy.options.allow) {
      if (to_string(host) != reduction.asked) continue;
      auto alone = requests_alone(host, request, ceilings);
      refused.push_back(alone ? *std::move(alone) : refused_host(host, ceilings));
    }
  } else if (reduction.what == "publish") {
    for (const PublishRule& port : request.policy.options.publish) {
      if (to_string(port) == reduction.asked) refused.push_back(refused_port(port, ceilings));
    }
  } else if (reduction.what == "ssh_agent") {
    refused.push_back(refused_ssh_agent(ceilings));
  } else if (reduction.what == "sockets") {
    refused.push_back(refused_socket(reduction, request, ceilings));
  } else if (reduction.what == "env") {
    refused.push_back(refused_variable(reduction, ceilings));
  } else if (reduction.what == "scratch") {
    refused.push_back(refused_scratch(reduction, request, ceilings));
  } else if (reduction.what == "stage") {
    refused.push_back(refused_stage(reduction, ceilings));
  } else {
    for (const LimitField& field : limit_fields()) {
      if (reduction.what != "limits." + std::string(field.key)) continue;
      refused.push_back(refused_limit(field, reduction, request, ceilings));
    }
  }
}

std::optional<Error> one_error(const std::vector<Refused>& refused) {
  if (refused.empty()) return std::nullopt;
  Error error = policy_error(refused.front().what, refused.front().hint);
  for (std::size_t i = 1; i < refused.size(); ++i) {
    error.notes.push_back(refused[i].what + "; " + refused[i].hint);
  }
  return error;
}

}  // namespace

std::optional<Error> refusal_of(const Resolved& request, Ceilings ceilings,
                                const Effective& effective, std::span<const Reduction> reductions) {
  std::vector<Refused> refused;
  for (const std::string& place : working_directories(request)) {
    if (is_lost(place, request, effective)) {
      refused.push_back(lost_place(place, request, ceilings));
    }
  }
  // A signature is of use to who can reach a server, and is lent to nobody else.
  if (effective.net.ssh_agent && !reaches_ssh(effective.net)) {
    const bool option = request.policy.options.ssh_agent;
    refused.push_back({std::string(option ? "--ssh-agent" : "net.ssh_agent") +
                           " needs a host whose port 22 may be reached by name",
                       "add --allow HOST:22"});
  }
  std::size_t untold = 0;
  for (const Reduction& reduction : reductions) {
    if (reduction.origin != Origin::Option) continue;
    if (refused.size() >= kMostRefusedTold) {
      ++untold;
      continue;
    }
    const std::size_t before = refused.size();
    add_refused(reduction, request, ceilings, refused);
    // Whatever a part of the clamp may come to say, an option that was reduced does not pass.
    if (refused.size() == before) {
      refused.push_back(
          {"the option for " + reduction.what + " " + quote(reduction.asked) + " cannot be granted",
           "leave the option out"});
    }
  }
  auto error = one_error(refused);
  if (error && untold > 0) {
    error->notes.push_back("and " + std::to_string(untold) + " more options cannot be granted");
  }
  return error;
}

std::optional<Error> refusal_of_planned(std::span<const Reduction> reductions) {
  std::vector<Refused> refused;
  for (const Reduction& reduction : reductions) {
    if (reduction.origin != Origin::Option) continue;
    const std::string option = "--" + reduction.what + " " + quote(reduction.asked);
    if (reduction.what == "cwd") {
      refused.push_back({option + " is outside what is granted, so nothing can start there",
                         "grant it with --read, or name a directory that is granted"});
    } else if (reduction.what == "env") {
      refused.push_back({option + " is not passed on: another credential of the agent is",
                         "leave the option out"});
    } else if (reduction.got) {
      refused.push_back({option +
                             " cannot be granted: it is on PATH, and the host runs programs from "
                             "there by name, so it is never more than readable",
                         "leave the option out; into a directory on PATH that lies in a granted "
                         "project a run can install"});
    } else {
      refused.push_back({option + " is denied, or holds credentials: it cannot be granted",
                         "leave the option out, or the deny"});
    }
  }
  return one_error(refused);
}

}  // namespace cordon
