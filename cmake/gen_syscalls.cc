// Writes the numbers of every system call that libseccomp knows on aarch64 or x86_64, one line
// {"name", aarch64, x86_64}, per call, sorted by name; -1 where an architecture lacks it. Run while
// building: the product itself never links libseccomp.
#include <seccomp.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

struct Numbers {
  int aarch64 = -1;
  int x86_64 = -1;
};

struct NewerCall {
  const char* name;
  Numbers numbers;
};

// Calls the filter decides on that an older libseccomp may not know. Where it does know one, the
// two must agree.
constexpr NewerCall kNewerCalls[] = {
    {"uretprobe", {-1, 335}},
    {"futex_waitv", {449, 449}},
    {"set_mempolicy_home_node", {450, 450}},
    {"cachestat", {451, 451}},
    {"fchmodat2", {452, 452}},
    {"map_shadow_stack", {453, 453}},
    {"futex_wake", {454, 454}},
    {"futex_wait", {455, 455}},
    {"futex_requeue", {456, 456}},
    {"statmount", {457, 457}},
    {"listmount", {458, 458}},
    {"lsm_get_self_attr", {459, 459}},
    {"lsm_set_self_attr", {460, 460}},
    {"lsm_list_modules", {461, 461}},
    {"mseal", {462, 462}},
    {"open_tree_attr", {467, 467}},
};

constexpr int kPastLastNumber = 1024;

using Table = std::map<std::string, Numbers>;

void read_architecture(uint32_t token, int Numbers::*field, Table& table) {
  for (int number = 0; number < kPastLastNumber; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(token, number);
    if (name == nullptr) continue;
    table[name].*field = number;
    std::free(name);
  }
}

bool add_newer(Table& table) {
  for (const NewerCall& call : kNewerCalls) {
    const auto [place, added] = table.try_emplace(call.name, call.numbers);
    if (added) continue;
    for (int Numbers::*field : {&Numbers::aarch64, &Numbers::x86_64}) {
      if (place->second.*field == -1) place->second.*field = call.numbers.*field;
      if (place->second.*field != call.numbers.*field) {
        std::fprintf(stderr, "gen_syscalls: libseccomp gives %s another number\n", call.name);
        return false;
      }
    }
  }
  return true;
}

bool write_table(const char* path, const Table& table) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return false;
  bool written = true;
  for (const auto& [name, numbers] : table) {
    written = std::fprintf(file, "{\"%s\", %d, %d},\n", name.c_str(), numbers.aarch64,
                           numbers.x86_64) > 0 &&
              written;
  }
  return std::fclose(file) == 0 && written;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: gen_syscalls OUTPUT\n");
    return 2;
  }
  Table table;
  read_architecture(SCMP_ARCH_AARCH64, &Numbers::aarch64, table);
  read_architecture(SCMP_ARCH_X86_64, &Numbers::x86_64, table);
  if (table.empty() || !add_newer(table)) return 1;
  if (!write_table(argv[1], table)) {
    std::perror(argv[1]);
    return 1;
  }
  return 0;
}
