// cordon-setup: the verb `cordon setup`, started by cordon.
#include "cli/companion_main.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  return cordon::companion_main("setup", cordon::verb_setup,
                                {argv, static_cast<std::size_t>(argc)});
}
