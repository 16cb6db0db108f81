// cordon-srt: the verb `cordon srt`, started by cordon; and, under the name srt, a drop-in for
// sandbox-runtime's command line.
#include <vector>

#include "base/path.h"
#include "base/standard_streams.h"
#include "cli/companion_main.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  if (!cordon::open_standard_streams()) return 1;
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 0 && cordon::basename(argv[0]) == "srt") words.insert(words.begin() + 1, "srt");
  return cordon::companion_main("srt", cordon::verb_srt, words);
}
