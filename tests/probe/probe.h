// probe: named attempts at what a sandbox may or may not permit. Each attempt does one thing
// through the kernel and says whether it succeeded; it never judges whether it should have. The
// tests hold the table of verdicts and run the same attempt with and without a sandbox.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace probe {

struct Verdict {
  bool ok = false;     // the attempt succeeded
  int error = 0;       // errno of the refusal; 0 if there is none
  std::string detail;  // what was read, counted or reached
};

using Arguments = std::vector<std::string>;

struct Attempt {
  std::string_view name;
  std::string_view usage;
  std::size_t needs;  // arguments that must be there
  Verdict (*run)(const Arguments& arguments);
};

std::span<const Attempt> file_attempts();
std::span<const Attempt> process_attempts();
std::span<const Attempt> kernel_attempts();
std::span<const Attempt> socket_attempts();
std::span<const Attempt> limit_attempts();
std::span<const Attempt> terminal_attempts();

inline Verdict done(std::string detail = {}) { return {true, 0, std::move(detail)}; }
inline Verdict refused(std::string detail = {}) { return {false, errno, std::move(detail)}; }
// The verdict of a system call's return value.
inline Verdict by_result(long result, std::string detail = {}) {
  return result < 0 ? refused(std::move(detail)) : done(std::move(detail));
}

long number(const std::string& text);  // decimal, 0x or 0 prefixed; ends the program if malformed
std::string read_whole(const std::string& path);  // empty if it cannot be read
std::string escaped(std::string_view text);       // as the inside of a JSON string

}  // namespace probe
