// cordon: run, session, policy, doctor, hook and help. The other verbs are those of cordon-tools,
// cordon-ship and cordon-apply, which it becomes: linked into this one, the database and the
// signing library would nearly double the time of every start, for their relocations alone. A link
// to it that is named lxc-exec or srt is a drop-in for that tool, and one that is named cordon-oci
// for an OCI runtime.
#include <malloc.h>

#include <span>
#include <vector>

#include "base/fd.h"
#include "base/own_limits.h"
#include "base/path.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/verbs.h"

namespace {

// A run takes and gives back some hundred KiB again and again. Given back to the kernel each time,
// every page of it would be faulted in anew.
void keep_memory() {
  constexpr int kBytes = 1 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kBytes);
  ::mallopt(M_TOP_PAD, kBytes / 4);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRefused = 125;
  keep_memory();
  if (!cordon::open_standard_streams()) return kRefused;
  if (const auto refused = cordon::refuse_small_stack()) {
    cordon::say_error(*refused);
    return kRefused;
  }
  cordon::meet_file_size_limit();
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  if (words.empty()) return cordon::command_line(words);
  if (const auto other = cordon::drop_in_called(cordon::basename(words.front()))) {
    return cordon::become_drop_in(*other, words.subspan(1));
  }
  return cordon::command_line(words.subspan(1));
}
