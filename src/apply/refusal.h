// Why a command was not started, in the exit statuses of SafeClaw's helper.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace cordon::apply {

enum class Status {
  Usage = 1,
  Policy = 70,        // the document, or what it asks for cannot be held
  Landlock = 71,      // the layer of files
  Seccomp = 72,       // the layer of system calls, or a name that is none
  Capabilities = 73,  // they could not be dropped
  Execute = 74,       // the command could not be executed
  Permission = 75,    // the policy file is not the caller's alone; no_new_privs
  Identity = 76,      // started with another identity than the caller's
};

struct Refusal {
  Status status;
  std::string text;  // one line
};

template <typename T>
using Judged = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(Status status, std::string text) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(text)});
}
// "text: No such file or directory"
Refusal with_errno(Status status, std::string text, int error);

}  // namespace cordon::apply
