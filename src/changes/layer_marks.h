// LayerMarks: what a layer says of names that it does not hold.
//
// In the upper directory of an overlay the kernel makes the marks, and nobody inside can: a
// character device 0:0 stands for a name that was removed (a whiteout), one attribute says that a
// directory hides what the host has under its name, another that a file was copied up.
//
// A layer that was gathered from a copy (changes/stage_copy.h) has marks of Cordon's own, since
// neither a device nor an attribute of overlays can be made where an overlay is refused: an empty
// file with an attribute stands for a name that was removed. The command could set such an
// attribute in its copy; when the layer is gathered all of them are taken away that are not
// Cordon's. No directory hides anything there.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

namespace cordon {

class LayerMarks {
 public:
  enum class By { Kernel, Cordon };
  explicit LayerMarks(By by) : by_(by) {}

  // What stands in the layer under `name`, with its status.
  [[nodiscard]] bool is_deleted(int directory, const std::string& name,
                                const struct stat& status) const;
  [[nodiscard]] bool hides(int directory) const;
  // The host had it when the run began; also after a rename.
  [[nodiscard]] bool was_copied(int directory, const std::string& name) const;

 private:
  By by_;
};

// The marks of Cordon's own. 0 or errno.

// Puts such a file where nothing stands. It is whole under its name or not there: until then it has
// a name of its own in `workplace`. `seal` is what nobody inside knows.
int mark_deleted(int workplace, int directory, const std::string& name, std::string_view seal);
// Whether it is such a file, made with that seal.
bool is_marked_deleted(int directory, const std::string& name, std::string_view seal);
int mark_copied(int directory, const std::string& name);
// Whether marks can be made in `workplace` at all.
int try_marks(int workplace);
// Takes away what the command set by itself.
int clear_marks(int directory, const std::string& name);

}  // namespace cordon
