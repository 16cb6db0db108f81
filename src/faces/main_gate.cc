// cordon-gate: what requests to hosts with rules go through. The supervisor of a run starts it,
// outside the sandbox, and gives it connected sockets over descriptor 3; it opens nothing itself.
// Nobody types it.
#include <malloc.h>
#include <openssl/crypto.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "gate/process/gate.h"

// This process holds secrets, and they pass through strings, documents and OpenSSL's buffers.
// Whatever memory is given back is wiped first, so that none of it lies about when it is handed out
// again.
namespace {

void give_back(void* memory) {
  if (!memory) return;
  OPENSSL_cleanse(memory, ::malloc_usable_size(memory));
  std::free(memory);
}

void* take(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  // Whoever goes on without memory would go on without a check.
  if (!memory) std::abort();
  return memory;
}

void* take_for_tls(std::size_t size, const char*, int) {
  return size == 0 ? nullptr : std::malloc(size);
}
void give_back_for_tls(void* memory, const char*, int) { give_back(memory); }
void* resize_for_tls(void* memory, std::size_t size, const char*, int) {
  if (size == 0) {
    give_back(memory);
    return nullptr;
  }
  void* larger = std::malloc(size);
  if (!larger || !memory) return larger;
  const std::size_t held = ::malloc_usable_size(memory);
  std::memcpy(larger, memory, held < size ? held : size);
  give_back(memory);
  return larger;
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

int main(int count, char**) {
  constexpr int kRefused = 125;
  if (count != 1 || CRYPTO_set_mem_functions(take_for_tls, resize_for_tls, give_back_for_tls) != 1)
    return kRefused;
  return cordon::gate::serve();
}
