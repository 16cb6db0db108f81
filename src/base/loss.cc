#include "cordon/loss.h"

namespace cordon {

std::string_view name_of(Loss loss) {
  switch (loss) {
    case Loss::Metadata:
      return "metadata";
    case Loss::Processes:
      return "processes";
    case Loss::Accounts:
      return "accounts";
    case Loss::Scratch:
      return "scratch";
    case Loss::Loopback:
      return "loopback";
    case Loss::MemoryBurst:
      return "memory-burst";
    case Loss::ProcessBurst:
      return "process-burst";
    case Loss::LandlockFiles:
      return "landlock-files";
    case Loss::LandlockRefer:
      return "landlock-refer";
    case Loss::LandlockTruncate:
      return "landlock-truncate";
    case Loss::LandlockIoctl:
      return "landlock-ioctl";
    case Loss::LandlockScopes:
      return "landlock-scopes";
    case Loss::Protected:
      return "protected";
    case Loss::InFlight:
      return "in-flight";
    case Loss::Appearing:
      return "appearing";
    case Loss::Inotify:
      return "inotify";
  }
  return "";
}

std::string_view sentence_of(Loss loss) {
  switch (loss) {
    case Loss::Metadata:
      return "the command can look up whether any path of the host exists, its size, owner, mode "
             "and times, and where a symlink leads, but not what a file holds";
    case Loss::Processes:
      return "the command can find out which process numbers are in use, and nothing else of a "
             "process outside";
    case Loss::Accounts:
      return "the command reads the host's own /etc/passwd, /etc/group, /etc/nsswitch.conf and "
             "host name, and with a list of hosts its /etc/resolv.conf";
    case Loss::Scratch:
      return "the private space is on the host's disk and its size is looked at from time to time, "
             "so a burst can pass the bound before the run is ended";
    case Loss::Loopback:
      return "the command has no loopback of its own: it can listen on no port, so programs inside "
             "cannot reach each other over TCP or UDP";
    case Loss::MemoryBurst:
      return "no control group bounds the memory: it is summed from time to time, so a burst can "
             "pass the bound before the run is ended";
    case Loss::ProcessBurst:
      return "no control group bounds the number of processes, and nothing else binds root: they "
             "are counted from time to time, so a burst can pass the bound before the run is ended";
    case Loss::LandlockFiles:
      return "there is no Landlock: which files can be reached is held by the mount view alone";
    case Loss::LandlockRefer:
      return "Landlock before ABI 2 refuses every rename and hard link between two directories: a "
             "program that does not copy instead fails with EXDEV";
    case Loss::LandlockTruncate:
      return "Landlock before ABI 3 does not check truncation: that a read-only file keeps its "
             "content is held by read-only mounts alone";
    case Loss::LandlockIoctl:
      return "Landlock before ABI 5 does not check ioctl on devices: which devices can be opened "
             "is "
             "held by the private /dev and by mounts without devices alone";
    case Loss::LandlockScopes:
      return "Landlock before ABI 6 does not check signals and abstract sockets: they are held by "
             "the pid namespace, the network namespace and the broker alone";
    case Loss::Protected:
      return "protected and read-only files in writable grants can be changed while the command "
             "runs; what was there is kept beforehand and put back when the command has ended";
    case Loss::InFlight:
      return "descriptors that wait in local sockets count for the user as a whole: the command "
             "can "
             "keep as many there as its limit of files, and meanwhile the user's programs with a "
             "lower limit can pass none";
    case Loss::Appearing:
      return "what a deny hides in a writable grant, in a directory that may not be listed, or by "
             "a "
             "pattern for any depth, can be read if it is made or replaced outside while the "
             "command runs";
    case Loss::Inotify:
      return "the inotify instances and watches of the command count against the user's own bound: "
             "/proc/sys cannot be written here";
  }
  return "";
}

Reach reach_of(Loss loss) {
  switch (loss) {
    case Loss::Metadata:
    case Loss::Processes:
    case Loss::Accounts:
    case Loss::Scratch:
    case Loss::Protected:
      return Reach::Wider;
    case Loss::Loopback:
    case Loss::MemoryBurst:
    case Loss::ProcessBurst:
    case Loss::LandlockFiles:
    case Loss::LandlockRefer:
    case Loss::LandlockTruncate:
    case Loss::LandlockIoctl:
    case Loss::LandlockScopes:
    case Loss::InFlight:
    case Loss::Appearing:
    case Loss::Inotify:
      return Reach::Same;
  }
  return Reach::Wider;
}

}  // namespace cordon
