// View: what a plan shows at one path. It is read off the operations of the plan, the same list
// that builds the sandbox, so that what is told about a path and what is there cannot differ.
//
// Mounts lie on each other in the order in which they are made, so the last operation that covers a
// path decides what is there. A directory that is only made shows itself and nothing below it.
// Landlock counts apart: of what a path may be used for, everything that a rule at it or above it
// allows. A backend without mounts shows the host as it is, and leaves all to Landlock.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace cordon {

enum class Shown {
  Nothing,  // no operation puts anything there
  Host,     // the host's own object
  Made,     // a file, a directory or a link that the sandbox is built with
  Private,  // space of the run, gone with it
  Kept,     // a directory of Cordon's own that lasts from run to run
  Copy,     // a copy of something protected
  Config,   // the copy of a git configuration
  Staged,   // the host's object below, what is written above it
  Masked,   // something that must not be seen
  Process,  // the sandbox's own /proc
  Device,   // a device that every sandbox has
};

struct View {
  Shown shown = Shown::Nothing;
  std::string place;       // what is mounted or made there begins here; `path` is it or lies in it
  std::string source;      // of the host's object behind `place`; empty: there is none
  bool there = false;      // it is there by the plan itself, whatever the host has
  bool directory = false;  // and known to be a directory
  bool writable = false;   // as far as the mount says
  std::string reason;      // of a mask or a hold
  // As far as Landlock says.
  bool may_list = false;
  bool may_read = false;
  bool may_write = false;
  bool may_execute = false;
};

// `path` is absolute and normal, with no symlink of the view on the way.
View view_of(const Plan& plan, std::string_view path);

}  // namespace cordon
