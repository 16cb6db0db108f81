// Where this program lies, for those who are to start it again.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "faces/cli/arguments.h"
#include "faces/cli/flag_table.h"

namespace cordon {

// The absolute path of this program. An error if there is nothing to execute there any more, as
// after an upgrade while it ran.
Result<std::string> own_executable();

// The verbs that no run needs belong to programs of their own; see main.cc. Such a program is
// looked for beside this one, then in the libexec directory of its installation.

// Becomes the program of `verb` with the words behind the verb, which were read as `arguments`.
// Returns only with a failure.
int become_helper(const Verb& verb, const Arguments& arguments, std::span<const char* const> words);

// In such a program: its verbs, and carrying out the one that stands in the first word or, with its
// sub-verb, in the first two.
struct HelperVerb {
  std::string_view name;
  int (*entry)(const Arguments&);
};
int carry_out_helper(std::span<const HelperVerb> verbs, std::span<const char* const> words);

// The verb that a program of this name stands for: "srt" for srt, "mxc" for lxc-exec, "oci" for
// cordon-oci.
std::optional<std::string_view> drop_in_called(std::string_view name);
int become_drop_in(std::string_view verb, std::span<const char* const> words);

// Such a program beside this process, for one whose answer is read by another. What it has to say
// is said to standard error by itself.
class HelperChild {
 public:
  static Result<HelperChild> start(const std::string& name, std::span<const std::string> words);
  HelperChild(HelperChild&& other) noexcept
      : process_(std::exchange(other.process_, -1)), answer_(std::move(other.answer_)) {}
  HelperChild& operator=(HelperChild&&) = delete;
  HelperChild(const HelperChild&) = delete;
  HelperChild& operator=(const HelperChild&) = delete;
  // Waits until it has ended, which it does once nobody reads its answer.
  ~HelperChild() { (void)end(); }

  [[nodiscard]] int answer() const { return answer_.get(); }
  // The status that waitpid(2) tells; -1 if there is none.
  int end();

 private:
  HelperChild(pid_t process, Fd answer) : process_(process), answer_(std::move(answer)) {}
  pid_t process_;
  Fd answer_;
};

// The other way round: where `cordon` lies, for the program that it became.
Result<std::string> main_program();

}  // namespace cordon
