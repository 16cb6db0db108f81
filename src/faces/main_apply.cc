// cordon-apply: the verb `cordon apply`, started by cordon; and, under the name
// safeclaw-sandbox-helper, a drop-in for SafeClaw's helper.
#include <unistd.h>

#include <span>

#include "compat/safeclaw/apply/apply.h"

int main(int argc, char** argv) {
  return cordon::apply::apply_main({argv, static_cast<std::size_t>(argc)}, environ);
}
