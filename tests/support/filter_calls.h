// The calls that a filter is asked about, for those who ask the interpreter and for those who ask
// the kernel: every number with some arguments, and each call that is judged by argument with the
// ones that matter.
#pragma once

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <vector>

#include "sandbox/native/seccomp_filter.h"
#include "sandbox/native/syscall_table.h"

namespace cordon {

using Arguments = std::array<std::uint64_t, 4>;
using Values = std::vector<std::uint64_t>;

inline constexpr FilterProfile kProfiles[] = {{NetMode::None, false},
                                              {NetMode::None, true},
                                              {NetMode::Allow, false},
                                              {NetMode::Open, false},
                                              {NetMode::Open, true},
                                              {NetMode::None, true, false, true},
                                              {NetMode::Allow, false, false, true}};
// The supervisor is shown every call that takes a path.
inline constexpr FilterProfile kWatchedProfiles[] = {{NetMode::None, true, false, false, true},
                                                     {NetMode::Open, true, false, true, true},
                                                     {NetMode::Allow, false, false, true, true}};

inline std::uint32_t token(Arch arch) {
  return arch == Arch::Aarch64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64;
}

inline seccomp_data call(std::uint32_t audit_arch, std::uint32_t number,
                         const Arguments& arguments = {}) {
  seccomp_data data{};
  data.arch = audit_arch;
  data.nr = static_cast<int>(number);
  for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
  data.args[4] = 0x5412;  // matters to sendto alone, of which it is the address
  data.args[5] = ~std::uint64_t{0};
  return data;
}

inline constexpr std::uint32_t kNumbers = 1024;
// Beyond every table, and at the edges of what a number can be.
inline constexpr std::uint32_t kOddNumbers[] = {0x3fffffff, 0x7fffffff, 0xffffffff, 0xfffffc00,
                                                65536};
inline constexpr std::uint64_t kAllBits = 0xffffffff;
inline constexpr Arguments kUsualArguments[] = {{},
                                                {kAllBits, kAllBits, kAllBits, kAllBits},
                                                {1, 1, 1, 1},
                                                {2, 2, 6, 2},
                                                {10, 0x5412, 0x20000000, 0x20000000}};

inline Values upto(std::uint64_t end) {
  Values values;
  for (std::uint64_t value = 0; value < end; ++value) values.push_back(value);
  return values;
}

inline Values plus(Values values, std::initializer_list<std::uint64_t> more) {
  values.insert(values.end(), more);
  return values;
}

// Every bit alone, and neighbours of the values that rules name.
inline Values bits() {
  Values values = {0, 0xffffffff, 0x11};
  for (unsigned bit = 0; bit < 32; ++bit) values.push_back(std::uint64_t{1} << bit);
  return values;
}

// The arguments worth trying for each judged call, by position.
inline std::map<std::string_view, std::array<Values, 4>> interesting() {
  const Values one = {0};
  const Values types = plus(upto(18), {0x80001, 0x80002, 0x80003, 0x80802, 0x80005, 0x805});
  Values modes;
  for (std::uint64_t kind = 0; kind < 17; ++kind) modes.push_back(kind << 12 | 0644);
  for (const std::uint64_t mode : {04755U, 02755U, 06755U, 01777U, 0104755U, 042775U})
    modes.push_back(mode);
  const Values opening = {0,         0100,     01102,   0102,      020200001,
                          020000000, 02000000, 0200000, 0xffffffff};
  const Values flags = plus(bits(), {0x20004000, 0x4040});
  return {
      {"clone", {plus(bits(), {0x01200011, 0x3d0f00, 0x4111, 0x10000011}), one, one, one}},
      {"ioctl",
       {one, plus(upto(0x5500), {0x890f, 0x8910, 0x8912, 0x89ff, 0x8a00, 0x40086602, 0x80045430}),
        one, one}},
      {"chmod", {one, modes, one, one}},
      {"fchmod", {one, modes, one, one}},
      {"creat", {one, modes, one, one}},
      {"fchmodat", {one, one, modes, one}},
      {"fchmodat2", {one, one, modes, one}},
      {"open", {one, opening, modes, one}},
      {"openat", {one, one, opening, modes}},
      {"mknod", {one, modes, one, one}},
      {"mknodat", {one, one, modes, one}},
      {"personality",
       {plus(bits(), {0x8, 0x20008, 0x40008, 0x60000, 0x400000, 0xfffffffe}), one, one, one}},
      {"prctl",
       {plus(upto(100), {0x53564d40, 0x53564d41, 0x53564d42, 0x41555855, 0x41555856, 0x41555857,
                         0x59616d61, 0xffffffff}),
        {0, 1, 2, 3},
        one,
        one}},
      {"seccomp", {plus(upto(6), {0xffffffff}), plus(upto(64), {0x80000008}), one, one}},
      {"sendto", {one, one, one, flags}},
      {"sendmmsg", {one, one, one, flags}},
      {"sendmsg", {one, one, flags, one}},
      {"setsockopt",
       {one, plus(upto(8), {17, 41, 284, 0xffffffff}), plus(upto(80), {0xffffffff}), one}},
      {"socket",
       {plus(upto(50), {0xffffffff}), types, plus(upto(60), {132, 136, 255, 262, 0xffffffff}),
        one}},
      {"socketpair", {plus(upto(50), {0xffffffff}), types, {0, 1, 6}, one}},
      {"fcntl", {one, plus(upto(40), {1023, 1024, 1025, 1026, 1033, 0xffffffff}), one, one}},
      {"prlimit64", {bits(), one, one, one}},
      {"sched_setaffinity", {bits(), one, one, one}},
      {"sched_setattr", {bits(), one, one, one}},
      {"sched_setparam", {bits(), one, one, one}},
      {"sched_setscheduler", {bits(), one, one, one}},
      {"setpriority", {plus(upto(5), {0xffffffff}), bits(), one, one}},
      {"ioprio_set", {plus(upto(5), {0xffffffff}), bits(), one, one}},
  };
}

}  // namespace cordon
