// A host, a caller and a workspace that exist nowhere, for tests of what is computed from them.
// Every value is fixed, so that a plan made from it is the same on every machine.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "plan/plan.h"
#include "policy/presets.h"

namespace cordon::testing {

inline constexpr std::uint64_t kMadeUpMemory = 8ULL << 30U;

inline Caller made_up_user() {
  Caller caller;
  caller.uid = 1000;
  caller.gid = 1000;
  caller.user = "alex";
  caller.home = "/home/alex";
  caller.homes = {"/home/alex"};
  caller.cwd = "/home/alex/project";
  caller.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/home/alex/bin"},
                        {"HOME", "/home/alex"},
                        {"LANG", "C.UTF-8"},
                        {"AWS_SECRET_ACCESS_KEY", "not for the sandbox"}};
  caller.config_directory = "/home/alex/.config/cordon";
  caller.state_directory = "/home/alex/.local/state/cordon";
  caller.runtime_directory = "/run/user/1000/cordon";
  caller.executable = "/usr/bin/cordon";
  return caller;
}

inline Caller made_up_root() {
  Caller caller = made_up_user();
  caller.uid = 0;
  caller.gid = 0;
  caller.user = "root";
  return caller;
}

inline HostFacts made_up_facts() {
  using Kind = SystemEntry::Kind;
  HostFacts facts;
  facts.landlock_abi = 7;
  facts.answers_calls = true;
  facts.memory_bytes = kMadeUpMemory;
  facts.processors = 4;
  facts.system = {{"/bin", Kind::Symlink, "usr/bin"},
                  {"/lib", Kind::Symlink, "usr/lib"},
                  {"/usr", Kind::Directory, {}},
                  {"/etc/ld.so.cache", Kind::File, {}},
                  {"/etc/ssl/certs", Kind::Directory, {}, SystemEntry::Tier::Programs}};
  facts.network_files = {"/etc/hosts", "/etc/resolv.conf"};
  facts.root_entries = {{"/bin", Kind::Symlink, "usr/bin"}, {"/dev", Kind::Directory, {}},
                        {"/etc", Kind::Directory, {}},      {"/home", Kind::Directory, {}},
                        {"/proc", Kind::Directory, {}},     {"/run", Kind::Directory, {}},
                        {"/srv", Kind::Directory, {}},      {"/sys", Kind::Directory, {}},
                        {"/tmp", Kind::Directory, {}},      {"/usr", Kind::Directory, {}},
                        {"/vmlinuz", Kind::File, {}}};
  facts.gitconfig = "[user]\n\tname = Alex\n\temail = alex@example.com\n";
  return facts;
}

inline CgroupFacts made_up_cgroup_v1() {
  return {CgroupFacts::Version::V1,
          {{"cpu", "/sys/fs/cgroup/cpu"},
           {"memory", "/sys/fs/cgroup/memory"},
           {"pids", "/sys/fs/cgroup/pids"}}};
}

inline CgroupFacts made_up_cgroup_v2() {
  return {CgroupFacts::Version::V2,
          {{"cpu", "/sys/fs/cgroup/user.slice"},
           {"memory", "/sys/fs/cgroup/user.slice"},
           {"pids", "/sys/fs/cgroup/user.slice"}}};
}

inline Grant made_up_grant(std::string path, std::uint64_t inode) {
  Grant grant;
  grant.written = grant.lexical = grant.path = std::move(path);
  grant.kind = FileKind::Directory;
  grant.id = {64, inode};
  return grant;
}

// A preset whose "@cwd" is the project and whose "@toolchains" is one directory below home.
inline Resolved resolved_preset(std::string_view name) {
  Resolved resolved;
  resolved.policy = make_preset(name, {kMadeUpMemory});
  const auto lead = [](const std::vector<PathRule>& rules, std::vector<Grant>& grants) {
    for (const PathRule& rule : rules) {
      if (rule.text == "@cwd") grants.push_back(made_up_grant("/home/alex/project", 100));
      if (rule.text == "@toolchains") {
        grants.push_back(made_up_grant("/home/alex/.pyenv/versions", 101));
        grants.back().source = Grant::Source::Toolchain;
      }
    }
  };
  lead(resolved.policy.fs.read, resolved.read);
  lead(resolved.policy.fs.write, resolved.write);
  return resolved;
}

inline PlanRequest made_up_request() {
  return {.argv = {"python3", "-c", "print(1)"},
          .cwd = "/home/alex/project",
          .persistent_home = "/home/alex/.local/state/cordon/homes/0123456789abcdef",
          .cache_directory = "/home/alex/.local/state/cordon/caches"};
}

}  // namespace cordon::testing
