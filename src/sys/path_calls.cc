#include "sys/path_calls.h"

#include <sys/syscall.h>

#include <algorithm>

// The calls that aarch64 was never given.
#ifdef __x86_64__
#define CORDON_OLD_CALL(name) SYS_##name
#else
#define CORDON_OLD_CALL(name) (-1)
#endif

namespace cordon::sys {
namespace {

using enum PathUse;

constexpr int kFchmodat2 = 452;  // the same on both; headers before 6.6 do not name it

constexpr PathCall at(std::string_view name, int number, PathUse use, int flags = kNoArgument) {
  return {name, number, {{{0, 1, use}, {}}}, flags};
}

constexpr PathCall plain(std::string_view name, int number, PathUse use, int flags = kNoArgument) {
  return {name, number, {{{kNoArgument, 0, use}, {}}}, flags};
}

constexpr PathCall two(std::string_view name, int number, PathUse first, PathUse second) {
  return {name, number, {{{kNoArgument, 0, first}, {kNoArgument, 1, second}}}};
}

constexpr PathCall two_at(std::string_view name, int number, PathUse first, PathUse second) {
  return {name, number, {{{0, 1, first}, {2, 3, second}}}};
}

constexpr PathCall kPathCalls[] = {
    at("openat", SYS_openat, Open, 2),
    at("newfstatat", SYS_newfstatat, Look, 3),
    at("statx", SYS_statx, Look, 2),
    at("faccessat", SYS_faccessat, Ask, 2),
    at("faccessat2", SYS_faccessat2, Ask, 2),
    at("readlinkat", SYS_readlinkat, LookAtLink),
    at("execveat", SYS_execveat, Execute),
    at("fchmodat", SYS_fchmodat, Change),
    at("fchmodat2", kFchmodat2, Change, 3),
    at("fchownat", SYS_fchownat, Change, 4),
    at("utimensat", SYS_utimensat, Change, 3),
    at("mkdirat", SYS_mkdirat, Make),
    at("mknodat", SYS_mknodat, Make),
    at("unlinkat", SYS_unlinkat, Remove),
    {"symlinkat", SYS_symlinkat, {{{1, 2, Make}, {}}}},
    two_at("linkat", SYS_linkat, LookAtLink, Make),
    two_at("renameat", SYS_renameat, Remove, Put),
    two_at("renameat2", SYS_renameat2, Remove, Put),
    plain("execve", SYS_execve, Execute),
    plain("chdir", SYS_chdir, Look),
    plain("statfs", SYS_statfs, Look),
    plain("truncate", SYS_truncate, Change),
    plain("getxattr", SYS_getxattr, Look),
    plain("lgetxattr", SYS_lgetxattr, LookAtLink),
    plain("listxattr", SYS_listxattr, Look),
    plain("llistxattr", SYS_llistxattr, LookAtLink),
    plain("setxattr", SYS_setxattr, Change),
    plain("lsetxattr", SYS_lsetxattr, ChangeLink),
    plain("removexattr", SYS_removexattr, Change),
    plain("lremovexattr", SYS_lremovexattr, ChangeLink),
    {"inotify_add_watch", SYS_inotify_add_watch, {{{kNoArgument, 1, Look}, {}}}},
    plain("open", CORDON_OLD_CALL(open), Open, 1),
    plain("creat", CORDON_OLD_CALL(creat), Change),
    plain("stat", CORDON_OLD_CALL(stat), Look),
    plain("lstat", CORDON_OLD_CALL(lstat), LookAtLink),
    plain("access", CORDON_OLD_CALL(access), Ask, 1),
    plain("readlink", CORDON_OLD_CALL(readlink), LookAtLink),
    plain("chmod", CORDON_OLD_CALL(chmod), Change),
    plain("chown", CORDON_OLD_CALL(chown), Change),
    plain("lchown", CORDON_OLD_CALL(lchown), ChangeLink),
    plain("utime", CORDON_OLD_CALL(utime), Change),
    plain("utimes", CORDON_OLD_CALL(utimes), Change),
    at("futimesat", CORDON_OLD_CALL(futimesat), Change),
    plain("mkdir", CORDON_OLD_CALL(mkdir), Make),
    plain("mknod", CORDON_OLD_CALL(mknod), Make),
    plain("rmdir", CORDON_OLD_CALL(rmdir), Remove),
    plain("unlink", CORDON_OLD_CALL(unlink), Remove),
    {"symlink", CORDON_OLD_CALL(symlink), {{{kNoArgument, 1, Make}, {}}}},
    two("link", CORDON_OLD_CALL(link), LookAtLink, Make),
    two("rename", CORDON_OLD_CALL(rename), Remove, Put),
};

}  // namespace

std::span<const PathCall> path_calls() { return kPathCalls; }

const PathCall* find_path_call(int number) {
  const auto* found = std::ranges::find(kPathCalls, number, &PathCall::number);
  return number < 0 || found == std::end(kPathCalls) ? nullptr : found;
}

}  // namespace cordon::sys

#undef CORDON_OLD_CALL
