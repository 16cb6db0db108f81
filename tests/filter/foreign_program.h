// The smallest program of the 32-bit architecture that kernels of this one may run beside it: it
// makes one system call, exit(42).
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cordon {

inline constexpr int kForeignStatus = 42;

class ForeignProgram {
 public:
  // `machine` is the ELF number of the architecture.
  ForeignProgram(std::uint16_t machine, const unsigned char* code, std::size_t size) {
    constexpr std::uint32_t kAddress = 0x10000;
    constexpr std::uint16_t kHeader = 52;
    constexpr std::uint16_t kSegment = 32;
    const auto whole = static_cast<std::uint32_t>(kHeader + kSegment + size);
    // 32 bits, little-endian, version 1, then padding.
    put({0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    put16(2);  // executable
    put16(machine);
    put32(1);
    put32(kAddress + kHeader + kSegment);     // entry
    put32(kHeader);                           // segments
    put32(0);                                 // sections: none
    put32(machine == kArm ? 0x05000000 : 0);  // EABI version 5
    for (const std::uint16_t value : {kHeader, kSegment, std::uint16_t{1}, std::uint16_t{40},
                                      std::uint16_t{0}, std::uint16_t{0}}) {
      put16(value);
    }
    // One segment to load, from the beginning of the file: readable and executable.
    for (const std::uint32_t value : {std::uint32_t{1}, std::uint32_t{0}, kAddress, kAddress, whole,
                                      whole, std::uint32_t{5}, std::uint32_t{0x1000}}) {
      put32(value);
    }
    std::memcpy(bytes_.data() + size_, code, size);
    size_ += size;
  }

  static constexpr std::uint16_t kI386 = 3;
  static constexpr std::uint16_t kArm = 40;

  // Returns only if the kernel refuses.
  void execute() const {
    const int file = ::memfd_create("foreign", 0);
    if (file < 0 || ::write(file, bytes_.data(), size_) != static_cast<ssize_t>(size_)) return;
    char name[] = "foreign";
    char* const argv[] = {name, nullptr};
    char* const environment[] = {nullptr};
    ::fexecve(file, argv, environment);
  }

 private:
  void put(std::initializer_list<unsigned char> values) {
    for (const unsigned char value : values) bytes_[size_++] = value;
  }
  void put16(std::uint16_t value) {
    put({static_cast<unsigned char>(value), static_cast<unsigned char>(value >> 8)});
  }
  void put32(std::uint32_t value) {
    put16(static_cast<std::uint16_t>(value));
    put16(static_cast<std::uint16_t>(value >> 16));
  }

  std::array<unsigned char, 256> bytes_{};
  std::size_t size_ = 0;
};

inline ForeignProgram foreign_program() {
#if defined(__x86_64__)
  // mov eax, 1; mov ebx, 42; int 0x80
  constexpr unsigned char kCode[] = {0xb8, 1, 0, 0, 0, 0xbb, kForeignStatus, 0, 0, 0, 0xcd, 0x80};
  return {ForeignProgram::kI386, kCode, sizeof kCode};
#else
  // mov r7, #1; mov r0, #42; svc 0
  constexpr unsigned char kCode[] = {1, 0x70, 0xa0, 0xe3, kForeignStatus, 0, 0xa0, 0xe3,
                                     0, 0,    0,    0xef};
  return {ForeignProgram::kArm, kCode, sizeof kCode};
#endif
}

}  // namespace cordon
