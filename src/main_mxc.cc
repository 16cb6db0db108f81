// cordon-mxc: the verb `cordon mxc`, started by cordon; and, under the name lxc-exec, a drop-in for
// MXC's executor.
#include <string_view>

#include "base/path.h"
#include "cli/talk.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  if (argc > 0 && cordon::basename(argv[0]) == "lxc-exec")
    return cordon::verb_mxc(words.subspan(1));
  if (argc > 1 && std::string_view(argv[1]) == "mxc") return cordon::verb_mxc(words.subspan(2));
  cordon::say_error(cordon::usage_error("this program is a part of cordon", "cordon mxc -h"));
  return cordon::kAnswerError;
}
