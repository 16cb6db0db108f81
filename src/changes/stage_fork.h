// LayerCopy: a tree copied as it is. copy_layer: the upper directory of an overlay, so that another
// overlay shows the same.
//
// A fork could be an overlay on top of the first upper instead, which copies nothing. Then the
// first stage could not be applied, discarded or continued as long as a fork of it lives, and a
// change list would have to be read from all layers together. A copy costs what was changed, not
// what the project is, and file systems that can share blocks share them.
//
// Beside files, directories and links an upper has whiteouts (character devices 0:0, which anybody
// may make) and `user.overlay.` attributes, which say what a directory hides and what was copied
// up. Both are copied. Two names of one file become two files.
#pragma once

#include <sys/stat.h>

#include <string>

#include "changes/take.h"

namespace cordon {

// Copies a tree as it is: modes, times, attributes of users, and owners where the caller is root.
// Nothing is followed.
class LayerCopy {
 public:
  explicit LayerCopy(CopyFrom from) : from_(from) {}
  LayerCopy(const LayerCopy&) = delete;
  LayerCopy& operator=(const LayerCopy&) = delete;
  virtual ~LayerCopy() = default;

  // The contents of directory `from` into `into`, which is there and empty, and the mode and the
  // attributes of `from` itself. 0 or errno; then part of it is there.
  int copy(const std::string& from, const std::string& into);
  // One name of a directory into another. `below` is its path in the tree.
  int copy_entry(int from, const std::string& name, int into, const std::string& below, int depth);
  // Where it failed, in the tree; empty: at its top.
  [[nodiscard]] const std::string& failed() const { return failed_; }

 private:
  // Whether it appears empty in the copy.
  [[nodiscard]] virtual bool is_emptied(const std::string& /*below*/) const { return false; }
  // Whether it is not in the copy at all.
  [[nodiscard]] virtual bool is_left_out(const std::string& /*below*/) const { return false; }
  virtual void copied(const std::string& /*below*/, const struct stat& /*made*/) {}
  // Asked before each entry: whether to give up, with EINTR.
  [[nodiscard]] virtual bool is_stopped() const { return false; }

  int contents(int from, int into, const std::string& below, int depth);
  int file(int from, const std::string& name, const struct stat& status, int into, bool emptied);
  int directory(int from, const std::string& name, const struct stat& status, int into,
                const std::string& below, int depth);
  int any(int from, const std::string& name, const struct stat& status, int into,
          const std::string& below, int depth);

  CopyFrom from_;
  std::string failed_;
};

int copy_layer(const std::string& from, const std::string& into);

}  // namespace cordon
