// cordon-demo: the verb `cordon demo`, started by cordon; and, inside its sandboxes, the attempts
// that need a program of our own.
#include <string_view>

#include "cli/companion_main.h"
#include "cli/doctor_check.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == cordon::kInsideVerb) return cordon::doctor_inside({argv + 2, argv + argc});
  return cordon::companion_main("demo", cordon::verb_demo, {argv, static_cast<std::size_t>(argc)});
}
