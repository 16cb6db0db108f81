// cordon-loop: the verb `cordon loop`, started by cordon.
#include "cli/companion_main.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  return cordon::companion_main("loop", cordon::verb_loop, {argv, static_cast<std::size_t>(argc)});
}
