// Help, made from the flag table: the short form fits 79 columns with one line for each flag, the
// long form explains and ends with examples, the manual form is the OPTIONS of a page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "faces/cli/flag_table.h"

namespace cordon {

std::string short_help(const Verb& verb);
std::string long_help(const Verb& verb);
// In scdoc form: OPTIONS and EXAMPLES of a page, or the section of a sub-verb.
std::string manual_options(const Verb& verb);

// "cordon run"
std::string command_name(const Verb& verb);

// The machines on which the suites last passed. The table is made of tests/vm/proven.json while
// building, and only a run writes that file: nobody can type that something is proven.

struct ProvenMachine {
  std::string_view name;
  std::string_view architecture;
  std::string_view kernel;
  int landlock_abi;
  int cgroup_version;
  int cases;
  std::string_view date;
  std::string_view commit;
  // Executors of MXC that were run on it; empty: none.
  std::string_view executors;
};

std::span<const ProvenMachine> proven_machines();

// Whether a run on a machine of that architecture is among them.
bool architecture_is_proven(std::string_view architecture);

// The same of a version of control groups.
bool cgroup_is_proven(int version);

// The executors of MXC that were run on that architecture; empty if none was.
std::string proven_executors(std::span<const ProvenMachine> machines,
                             std::string_view architecture);

}  // namespace cordon
